"""Every way to divide a training among ranks, on a small network in NumPy. This file only describes the workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from workshop.core import extras
from workshop.engine.fields import ADVANCED, setting
from workshop.extension import Extension, Page, Params, Preset, Scaling, Workload

TEXT: dict[str, Any] = {"when": {"network": "transformer"}}


class ParallelParams(Params):
    """The network, how it is cut, and how it is trained."""

    network: Literal["transformer", "perceptron", "convolutional"] = Field(
        "transformer",
        description="a transformer on the characters of Python's help, or a network on handwritten digits",
    )
    cut: str = Field(
        "",
        max_length=100,
        description="the grid of ranks, such as pipeline:2,tensor:2, of data, pipeline, and one of tensor, sequence, "
        "channel, spatial, experts; ranks that it doesn't name divide the data",
    )
    schedule: Literal["naive", "gpipe", "1f1b", "interleaved", "zero-bubble", "bidirectional", "own"] = Field(
        "1f1b", description="the order of work in a pipeline; own: the one in instructions"
    )
    instructions: str = setting(
        "",
        "a schedule of one's own: for each stage its work, such as F0 F1 B0 B1, with / between stages",
        when={"schedule": "own"},
        max_length=20_000,
    )
    micro_batches: int = Field(0, ge=0, le=256, description="parts of each batch; 0: 4 in a pipeline, 1 otherwise")
    zero: int = Field(
        0,
        ge=0,
        le=3,
        description="ZeRO: ranks divide the optimizer's state, from 2 on the gradients, from 3 on the weights",
    )
    recompute: bool = Field(False, description="keep no activations of a block, and compute them again")
    precision: Literal["float64", "float32"] = Field("float64", description="numbers to compute with")
    exchange: Literal["per-tensor", "fused", "buckets"] = Field(
        "fused", description="gradients in one message for each array, in one for all, or in buckets"
    )
    bucket: int = setting(
        256 << 10, "size of a bucket", {"unit": "bytes", **ADVANCED}, {"exchange": "buckets"}, ge=1, le=1 << 30
    )
    layers: str = setting(
        "", "layers of each part of the pipeline, such as 7,3; empty: about as many in each", ADVANCED, max_length=200
    )
    steps: int = Field(60, ge=1, le=10_000, description="updates")
    batch: int = Field(32, ge=1, le=4096, description="examples of an update, over all ranks")
    rate: float = Field(0.003, gt=0, le=1, description="learning rate of Adam")
    width: int = Field(96, ge=1, le=1024, description="width of the network; for images, channels and hidden layers")
    blocks: int = Field(4, ge=1, le=32, description="blocks of the transformer, or hidden layers")
    heads: int = setting(4, "heads of attention", TEXT, ge=1, le=64)
    length: int = setting(64, "characters of an example", TEXT, ge=2, le=512)
    experts: int = setting(0, "experts in each block; 0: none", {**TEXT, **ADVANCED}, ge=0, le=64)
    capacity: float = setting(
        1.0, "share of a rank's characters that an expert takes; others are dropped", {**TEXT, **ADVANCED}, gt=0, le=1
    )
    image: int = setting(
        16, "rows and columns of an image", when={"network": "convolutional"}, ge=8, le=256, multiple_of=8
    )
    pace: float = setting(
        0,
        "least time of a stage's forward computation, twice as long backward; for more stages than cores",
        {"unit": "s", **ADVANCED},
        ge=0,
        le=2,
    )
    verify: bool = Field(True, description="train once more in one process, and compare the weights")
    fault: Literal["none", "no-halo", "no-gather"] = setting(
        "none", "a mistake to study: stripes without their halo, or ZeRO that doesn't collect the weights", ADVANCED
    )
    seed: int = setting(0, "seed of weights and examples", ADVANCED, ge=0, le=2**32 - 1)

    @field_validator("layers")
    @classmethod
    def _are_counts(cls, layers: str) -> str:
        if layers and not all(word.strip().isdigit() for word in layers.split(",")):
            raise ValueError(f"layers is {layers!r}; it should be numbers with commas between, such as 7,3")
        return layers

    @model_validator(mode="after")
    def _fit(self) -> ParallelParams:
        if self.network == "transformer" and self.width % self.heads:
            raise ValueError(f"a width of {self.width} can't be divided into {self.heads} heads; take a multiple")
        if self.schedule == "own" and not self.instructions.strip():
            raise ValueError("the schedule own needs instructions, such as F0 F1 B0 B1 / F0 B0 F1 B1")
        if self.fault == "no-gather" and self.zero not in (1, 2):
            raise ValueError("the fault no-gather needs ZeRO 1 or 2; set zero")
        return self


def _fits(params: ParallelParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Raise BadInput for whatever can't be cut so, whose schedule would stand still, or whose digits are not here."""
    if params.network != "transformer":
        extras.require(f"The network {params.network}, which learns digits,", extras.TRAINING, "sklearn")
    from workshop.workloads.parallel.settings import check

    check(params, ranks)


WORKLOAD = Workload(
    name="parallel",
    title="Parallelism",
    summary="Trains one network cut in any way among ranks: data, tensors, layers, images, experts.",
    params=ParallelParams,
    function="workshop.workloads.parallel.run:run",
    fits=_fits,
    curves=("loss",),
    results=(
        "weights_difference", "bytes_per_step", "bytes_expected", "idle", "expected_idle", "rate", "held_out_loss",
    ),
    metrics={
        "rate": "throughput [examples/s]",
        "idle": "idle share of the pipeline, measured [%]",
        "expected_idle": "idle share of the pipeline, predicted [%]",
        "weights_difference": "largest difference from one process, relative",
        "bytes_per_step": "exchanged in a step, all ranks",
        "bytes_expected": "exchanged in a step, by formula",
        "bytes_difference": "difference of both",
        "calls_difference": "calls more or fewer than by formula",
        "held_out_loss": "loss on other examples",
        "first_loss": "loss of the first step",
        "last_loss": "loss of the last step",
        "parameters": "weights of the network",
        "dropped": "characters that no expert took",
        "grid": "grid of ranks",
        "paced": "stages were paced",
        "stopped": "stopped early",
        "seconds.train": "time of the training",
        "seconds.verify": "time of the training in one process",
    },
    notes={
        "loss": "The mean of -log of the probability of the right character or digit. Guessing gives log of the "
        "number of characters."
    },
    scaling=Scaling(rate="rate", unit="examples/s", total="batch", strong={"verify": False}),
    order=160,
    rules="workshop.workloads.parallel",
    panels="workshop.workloads.parallel.panels:PANELS",
    failures="workshop.workloads.parallel.facts:failures",
    presets=(
        Preset("Divide the data", "The weights are those of one process, and the bytes are those of the formula."),
        Preset("A pipeline of two stages", "The timeline shows where each stage waits: the bubble.",
               {"cut": "pipeline:2", "schedule": "gpipe"}, {"ranks": 2}),
        Preset("Experts", "Characters travel to their experts and back. A full expert drops some of them.",
               {"cut": "experts:2", "experts": 4, "capacity": 0.4, "verify": False}, {"ranks": 2}),
        Preset("Four stages, paced", "Stages wait without holding a core, so two cores show a pipeline of four.",
               {"cut": "pipeline:4", "micro_batches": 8, "pace": 0.02, "steps": 6},
               {"ranks": 4, "oversubscribe": True}),
    ),
    star="pipeline",
)  # fmt: skip

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    pages=(
        Page(
            "parallelism",
            "Parallelism",
            "view_timeline",
            "workshop.workloads.parallel.page:page",
            order=460,
            summary="Divide a network by data, tensors, stages or experts, and see its bytes, memory and idle time.",
            picture=Path(__file__).parent / "parallelism.svg",
        ),
    ),
)
