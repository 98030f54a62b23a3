"""One processor to its limit: the images per second of ResNet-50 on made-up images, by TensorFlow's switches for the
processor. This file only describes it.

oneDNN and its log are switched on or off before TensorFlow is imported, so each rank measures in a fresh process:
`program` is what that process runs, `run` starts it, and `kernels` reads oneDNN's log and the processor's instruction
sets. `study` is the guided study.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, setting
from workshop.extension import Command, Extension, Page, Params, Preset, Scaling, Study, Tuning, Workload

Threads = Annotated[int, Field(ge=1, le=1024)] | None
THREADS: dict[str, Any] = {"part": "Threads"}


class ProcessorParams(Params):
    """The switches, and the work that is measured."""

    mode: Literal["training", "inference"] = Field("training", description="whole training steps, or forward passes")
    batch: int = Field(8, ge=1, le=1024, description="images of each rank in a step; the published rates are for 16")
    image_size: int = setting(64, "side of the square images", {"unit": "pixels"}, ge=32, le=512)
    onednn: bool = Field(True, description="oneDNN's kernels, or TensorFlow's own (TF_ENABLE_ONEDNN_OPTS)")
    intra: Threads = setting(None, "threads that share an operation; empty: as the placement says", THREADS)
    inter: Threads = setting(None, "operations at the same time; empty: as the placement says", THREADS)
    layout: Literal["nhwc", "nchw"] = Field("nhwc", description="order of an image's axes; nchw needs oneDNN")
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="numbers to compute with; weights stay float32 (mixed precision)"
    )
    fusion: bool = Field(True, description="fuse operations, such as a layer and its bias (Grappler's remapper)")
    log: bool = setting(True, "have oneDNN log its kernels (ONEDNN_VERBOSE)", ADVANCED)
    warmup: int = Field(3, ge=2, le=1000, description="steps before the measured ones; the first two compile")
    steps: int = Field(8, ge=1, le=1000, description="measured steps")
    seed: int = setting(0, "seed of weights and images", ADVANCED, ge=0, le=2**31 - 1)

    @model_validator(mode="after")
    def _has_kernels(self) -> ProcessorParams:
        if self.layout == "nchw" and not self.onednn:
            raise ValueError("layout is nchw, for which TensorFlow has no kernels without oneDNN; take onednn or nhwc")
        return self


WORKLOAD = Workload(
    name="one-processor",
    title="One processor to its limit",
    summary="Measures ResNet-50 with oneDNN on and off, and by threads, layout, precision and fusion.",
    params=ProcessorParams,
    function="workshop.workloads.processor.run:run",
    processes=lambda params: 1,
    extra="training",
    results=("images_per_second", "kernels_share", "instructions", "types", "layouts"),
    metrics={
        "images_per_second": "throughput [images/s]",
        "instructions": "instruction sets",
        "kernels_share": "added times of oneDNN's kernels, relative to a step",
        "layouts": "layouts of the convolutions' images",
        "fast": "precision has instructions of its own",
        "native": "precision has oneDNN's kernels",
        "pools.inter": "threads of the inter-op pool",
        "pools.intra": "threads of the intra-op pool",
        "seconds.measure": "time of the measured steps",
        "seconds.start": "time until the first measured step",
        "step_seconds": "time of a step [s]",
        "types": "numbers of the convolutions",
    },
    scaling=Scaling(rate="images_per_second", unit="images/s", share="batch"),
    tuning=Tuning(short={"steps": 6, "log": False}, length="steps", seconds="measure"),
    order=260,
    star="primitives",
    lab="placement",
    rules="workshop.workloads.processor",
    panels="workshop.workloads.processor.report:PANELS",
    presets=(
        Preset("oneDNN", "oneDNN's log shows which primitives take the time of a step.", {}, {"ranks": 1}),
        Preset("Without oneDNN", "Compare its images/s with oneDNN's.", {"onednn": False}, {"ranks": 1}),
        Preset(
            "bfloat16",
            "The numbers have half of the bytes: compare the images/s.",
            {"precision": "bfloat16"},
            {"ranks": 1},
        ),
        Preset("Inference", "Forward passes alone, without gradients.", {"mode": "inference"}, {"ranks": 1}),
    ),
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    studies=(
        Study(
            "processor",
            "workshop.workloads.processor.study.facts:KIND",
            workload="one-processor",
            form="workshop.workloads.processor.study.facts:FORM",
            page="processor",
        ),
    ),
    pages=(
        Page(
            "processor",
            "Processor",
            "developer_board",
            "workshop.web.pages.studies:page",
            order=410,
            summary="One processor in seven steps: threads, vector instructions and number formats.",
            picture=Path(__file__).parent / "study/processor.svg",
        ),
    ),
    commands=(Command("study run", "processor", "workshop.workloads.processor.study.command:processor", order=310),),
)
