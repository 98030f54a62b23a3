"""Data-parallel training of a semi-supervised GAN on handwritten digits. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from workshop.engine.fields import ADVANCED, KNOBS, Data, Exchange, Target, Trace, number, setting
from workshop.engine.training import METRICS
from workshop.extension import Command, Extension, Page, Params, Preset, RunPrediction, Scaling, Study, Tuning, Workload
from workshop.workloads.mnist.data import inputs

# `page` is the dashboard's default where it differs, `file` a param that may also be an upload there, `part` the
# heading under which the form shows a field.
EVALUATION: dict[str, Any] = {"part": "Evaluation on held-out images"}


class SganParams(Params):
    """The model and the data to train, and the evaluation."""

    data: Data = "auto"
    exchange: Exchange = "auto"
    method: Literal["sgan", "supervised"] = Field(
        "sgan", description="sgan, or the same classifier trained on the labelled images alone"
    )
    size: Annotated[Literal[28, 56, 112], BeforeValidator(number)] = setting(
        28, "pixels of an image's side; the nets grow with it", {"unit": "pixels"}
    )
    labels: int = Field(10, ge=1, le=6000, description="labelled images of each digit; the others are unlabelled")
    batch: int = Field(64, ge=1, le=60_000, description="unlabelled images of each rank in a step")
    iterations: int = Field(800, ge=1, le=1_000_000, description="steps of training")
    rate: Annotated[float, Field(gt=0, le=100)] | None = Field(
        None, description="learning rate of both nets; empty: 0.003"
    )
    evaluate_every: int = setting(15, "iterations between two evaluations", EVALUATION, ge=1, le=1_000_000)
    evaluate_unit: Literal["iterations", "images"] = setting(
        "iterations",
        "images: after as many images as one rank reads in that many iterations, so that more ranks "
        "evaluate more often",
        EVALUATION,
    )
    evaluate_by: Literal["all", "rank0"] = setting(
        "all", "all ranks share the held-out images, or rank 0 evaluates them while the others wait", EVALUATION
    )
    evaluate_images: Annotated[int, Field(ge=1, le=60_000)] | None = setting(
        None, "held-out images to evaluate; empty: all", EVALUATION
    )
    inference: Literal["compiled", "predict", "predict_on_batch"] = setting(
        "compiled", "a compiled function, or Keras's predict or predict_on_batch", EVALUATION
    )
    target: Target = 0.92
    trace: Trace = 30
    seed: int = setting(0, "seed of weights, labels, order and noise", ADVANCED, ge=0, le=2**31 - 1)
    pace: float = setting(
        0, "least seconds per step, to watch it; not in timings", {**ADVANCED, "unit": "s"}, ge=0, le=10
    )
    compute: float = setting(
        0,
        "least seconds of compute per step, in timings: ranks that share cores then take equally long",
        {**ADVANCED, "unit": "s"},
        ge=0,
        le=10,
    )


def _fits(params: SganParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse what the images are too few for. Raises BadInput."""
    from workshop.workloads.mnist.data import images
    from workshop.workloads.sgan.plan import check

    check(params, images.read(inputs), ranks)


WORKLOAD = Workload(
    name="sgan",
    title="Semi-supervised GAN",
    summary="Trains a classifier with few labels and many unlabelled digits, against a generator of digits.",
    params=SganParams,
    function="workshop.workloads.sgan.run:run",
    trains=True,
    inputs=inputs,
    fits=_fits,
    curves=("accuracy", "loss", "generator loss", "total images/s"),
    results=("held_out_accuracy", "images_per_second", "time_to_target", "iterations_to_target", "spread"),
    metrics={
        **METRICS,
        "evaluations": "evaluations",
        "generator_loss": "loss of the generator",
        "iterations": "iterations",
        "iterations_to_target": "iterations until the target",
        "labelled_batch": "labelled images per step",
        "labelled_images": "labelled images",
        "method": "way of training",
        "private_memory": "most memory that a rank had for itself",
        "seconds.pictures": "time of drawing pictures",
        "unlabelled_images": "unlabelled images",
    },
    # Iterations are the same for every number of ranks, so the work grows with the ranks by itself.
    scaling=Scaling(rate="images_per_second", unit="images/s", share="batch", live="total images/s"),
    tuning=Tuning(
        short={"iterations": 100, "evaluate_every": 1_000_000, "evaluate_images": 100, "trace": 0},
        length="iterations",
        seconds="train",
        knobs=KNOBS,
        missing="workshop.engine.fields:missing",
        usable="workshop.engine.fields:usable",
    ),
    order=300,
    lab="sgan",
    prediction=RunPrediction("held_out_accuracy", "Which share of the held-out images will it read right?", "%", 100),
    presets=(
        Preset("Watch it learn", "The generator draws digits, and the classifier improves.", {"iterations": 300}),
        Preset(
            "Without the generator",
            "The same classifier learns from the labelled images alone: compare the accuracy.",
            {"iterations": 300, "method": "supervised"},
        ),
        Preset(
            "Rank 0 evaluates alone",
            "The others wait meanwhile: look at where the time goes.",
            {"iterations": 300, "evaluate_by": "rank0"},
            {"ranks": 2},
        ),
    ),
    rules="workshop.workloads.sgan",
    panels="workshop.workloads.sgan.panels:PANELS",
    star="generated",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    studies=(
        Study(
            "path",
            "workshop.workloads.sgan.study.facts:KIND",
            workload="sgan",
            form="workshop.workloads.sgan.study.facts:FORM",
            page="tuning",
        ),
        Study(
            "nodes",
            "workshop.workloads.sgan.nodes.facts:KIND",
            workload="sgan",
            form="workshop.workloads.sgan.nodes.facts:FORM",
            page="nodes",
        ),
    ),
    pages=(
        Page(
            "tuning",
            "Tuning",
            "tune",
            "workshop.web.pages.studies:page",
            order=400,
            summary="The path of the S-GAN study: from the first run to a tuned one, in nine steps.",
            picture=Path(__file__).parent / "study/tuning.svg",
        ),
        Page(
            "nodes",
            "Nodes",
            "lan",
            "workshop.web.pages.studies:page",
            order=405,
            summary="The same path over four hosts, which this machine emulates.",
            picture=Path(__file__).parent / "nodes/nodes.svg",
        ),
    ),
    commands=(
        Command("study run", "path", "workshop.workloads.sgan.study.command:path", order=300),
        Command("study run", "nodes", "workshop.workloads.sgan.nodes.command:nodes", order=305),
    ),
)
