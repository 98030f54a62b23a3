"""Data-parallel training of a small Keras network on handwritten digits. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import (
    ADVANCED,
    KNOBS,
    Accumulate,
    Bucket,
    Compression,
    Data,
    Exchange,
    Keep,
    Target,
    Trace,
    check_compression,
    setting,
)
from workshop.engine.training import CHECKPOINTS, METRICS
from workshop.extension import Artifacts, Extension, Params, Preset, RunPrediction, Scaling, Tuning, Workload

if TYPE_CHECKING:
    from workshop.engine.training.batches import Batches

# `page` is the dashboard's default where it differs, `file` a param that may also be an upload there, `part` the
# heading under which the form shows a field.
RECIPE: dict[str, Any] = {"part": "The recipe, step by step"}


class MnistParams(Params):
    """The params of training: the network, the images, and the steps of the recipe."""

    data: Data = "auto"
    exchange: Exchange = "auto"
    epochs: int = Field(8, ge=1, le=1000, description="times that all images are read")
    batch: int = Field(64, ge=1, le=60_000, description="images of each rank in a step")
    rate: Annotated[float, Field(gt=0, le=100)] | None = Field(
        None, description="learning rate of one rank; empty: 0.001 for adam, 0.02 for the others"
    )
    broadcast: bool = setting(True, "all ranks begin with rank 0's weights", RECIPE)
    shard: bool = setting(True, "every rank reads images of its own", RECIPE)
    divide: bool = setting(True, "the ranks divide the steps of an epoch", RECIPE)
    average: bool = setting(True, "loss and accuracy are averaged over all ranks", RECIPE)
    scale: Literal["none", "linear", "sqrt"] = setting(
        "linear", "multiply the rate by the ranks, or by their square root", RECIPE
    )
    warmup: float = setting(1, "epochs over which the learning rate grows to its scaled value", RECIPE, ge=0, le=1000)
    checkpoint: Literal["rank0", "every-rank", "off"] = setting("rank0", "who writes the checkpoints", RECIPE)
    checkpoint_every: Annotated[int, Field(ge=1, le=1_000_000)] | None = setting(
        None, "steps from one checkpoint to the next; empty: one after each epoch", ADVANCED
    )
    mtbf: float = setting(
        24,
        "mean time between failures, which the advice on checkpoints assumes",
        {"unit": "h", **ADVANCED},
        gt=0,
        le=1_000_000,
    )
    target: Target = 0.95
    model: str = setting(
        "cnn",
        "cnn, dense, or the path of a Keras model (.keras) for images of 28x28x1 and 10 classes",
        {"file": {"choices": ["cnn", "dense"], "upload": False}, **ADVANCED},
        min_length=1,
        max_length=1000,
    )
    optimizer: Literal["adam", "momentum", "sgd"] = setting("adam", "what turns gradients into steps", ADVANCED)
    resume: str = setting(
        "",
        "go on from the checkpoint of a run (its number) or of a file (its path)",
        {"file": {"choices": [], "runs": True, "upload": False}, **ADVANCED},
        max_length=1000,
    )
    compression: Compression = "none"
    keep: Keep = 0.01
    bucket: Bucket = 0.1
    accumulate: Accumulate = 1
    images: Annotated[int, Field(ge=1, le=60_000)] | None = setting(
        None, "train on so many images only; empty: on all", ADVANCED
    )
    steps: Annotated[int, Field(ge=1, le=1_000_000)] | None = setting(
        None, "end after so many steps; empty: after all epochs", ADVANCED
    )
    trace: Trace = 30
    seed: int = setting(0, "seed of weights and order", ADVANCED, ge=0, le=2**31 - 1)
    pace: float = setting(
        0, "least seconds per step, to watch it; not in timings", {"page": 0.1, "unit": "s"}, ge=0, le=10
    )

    @model_validator(mode="after")
    def _can_compress(self) -> MnistParams:
        check_compression(self.exchange, self.compression)
        return self

    def batches(self, images: int, ranks: int) -> Batches:
        """Which images each of so many ranks reads, where there are so many images. Raises BadInput."""
        from workshop.engine.training.batches import Batches

        count = min(self.images or images, images)
        return Batches(count, ranks, self.batch * self.accumulate, self.seed, self.shard, self.divide)


def _inputs(params: MnistParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The images, a model's file and a checkpoint, as far as params name them. Raises BadInput."""
    from workshop.workloads.mnist.inputs import inputs

    return inputs(params, artifacts)


def _fits(params: MnistParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse a batch that is larger than a rank's share. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    params.batches(len(images.read(inputs).train_labels), ranks)


WORKLOAD = Workload(
    name="mnist",
    title="Handwritten digits",
    summary="Trains a small network on all ranks at once; turn off any step of the recipe and see what breaks.",
    params=MnistParams,
    function="workshop.workloads.mnist.run:run",
    trains=True,
    inputs=_inputs,
    fits=_fits,
    curves=("loss", "accuracy", "total images/s", "spread"),
    results=("held_out_accuracy", "images_per_second", "time_to_target", "epochs_to_target", "spread"),
    metrics={
        **METRICS,
        **CHECKPOINTS,
        "epochs": "epochs",
        "epochs_to_target": "epochs until the target",
        "misclassified": "held-out images read wrongly",
        "model": "network",
    },
    # The same batch over all ranks takes the same learning rate; twice the ranks read twice as much in the same time.
    scaling=Scaling(
        rate="images_per_second",
        unit="images/s",
        share="batch",
        total="epochs",
        strong={"scale": "none"},
        live="total images/s",
    ),
    tuning=Tuning(
        short={"epochs": 1000, "steps": 250, "checkpoint": "off", "trace": 0},
        length="steps",
        seconds="train",
        knobs=KNOBS,
        missing="workshop.engine.fields:missing",
        usable="workshop.engine.fields:usable",
    ),
    order=200,
    lab="mnist",
    prediction=RunPrediction("held_out_accuracy", "Which share of the held-out images will it read right?", "%", 100),
    rules="workshop.report.training",
    panels="workshop.report.training.panels:PANELS",
    presets=(
        Preset("Watch it converge", "The loss falls, and the accuracy rises.", {"epochs": 4}, {"ranks": 2}),
        Preset(
            "Two ranks against one",
            "Run it on two ranks, then on one, and compare the throughput.",
            {"epochs": 4, "pace": 0},
            {"ranks": 2, "threads": 1},
        ),
        Preset(
            "Oversubscribe",
            "Twice as many ranks as cores: each step waits for the rank that has its turn last.",
            {"epochs": 2, "pace": 0},
            {"bind_to": "none", "oversubscribe": True, "threads": 1},
            per_core=2,
        ),
        Preset(
            "Leave the broadcast out",
            "The ranks begin with different weights, and stay apart.",
            {"broadcast": False, "epochs": 4},
            {"ranks": 2},
        ),
    ),
    failures="workshop.workloads.mnist.failures:failures",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
