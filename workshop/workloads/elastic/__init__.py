"""Elastic training: data-parallel training that goes on after ranks were lost. This file only describes it.

`kills` says which ranks are to be killed, `communicator` shrinks and grows the group of ranks, `network` has the
examples and the arithmetic of a step, `run` the loop, and `joiner` is a new rank's program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from workshop.core.errors import BadInput
from workshop.engine.fields import ADVANCED, Data, setting
from workshop.engine.training import METRICS
from workshop.extension import Extension, Params, Preset, Scaling, Workload
from workshop.workloads.elastic.kills import check_kills, parse_kills, random_mean
from workshop.workloads.mnist.data import inputs


class ElasticParams(Params):
    """The params of elastic training: what to do after a failure, which ranks to kill, and how to train."""

    on_failure: Literal["stop", "shrink", "grow", "restart"] = Field(
        "shrink",
        description="after a loss: fail; go on with fewer ranks; also take a new rank in at the next epoch; or begin "
        "again at the checkpoint with new ranks. If a whole host is lost, mpirun ends all ranks",
    )
    kill: str = Field(
        "",
        max_length=200,
        description="ranks to kill, as RANK@step:N, several with "
        "commas; random:MEAN with on_failure restart: a random rank about every MEAN steps; empty: none",
    )
    data: Data = "auto"
    images: int | None = Field(None, ge=1, le=60_000, description="train on so many images only; empty: on all")
    model: Literal["cnn", "dense"] = Field("cnn", description="the network: convolutions, or one dense inner layer")
    epochs: int = Field(6, ge=1, le=1000, description="times that all images are read")
    batch: int = Field(32, ge=1, le=60_000, description="images of each rank in a step")
    rate: float = setting(0.01, "learning rate of a rank; all ranks' is the sum", gt=0, le=100)
    checkpoint_every: int = Field(20, ge=0, le=1_000_000, description="steps between two checkpoints; 0: none")
    seed: int = setting(0, "seed of weights and order", ADVANCED, ge=0, le=2**31 - 1)
    pace: float = setting(0, "least seconds per step, to watch it", {"page": 0.1, "unit": "s"}, ge=0, le=10)

    @field_validator("kill")
    @classmethod
    def _reads_kills(cls, text: str) -> str:
        parse_kills(text)
        return text


def check_ranks(params: ElasticParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse kills that can't be carried out, and more ranks than images. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    count = len(images.read(inputs).train_labels)
    count = min(params.images or count, count)
    if count < ranks:
        raise BadInput(f"{ranks} ranks can't divide {count} images; take at most {count} ranks, or more images.")
    if random_mean(params.kill) is not None and params.on_failure != "restart":
        raise BadInput(
            f"kill is {params.kill}, for which each loss has to be followed by new ranks, but on_failure is "
            f"{params.on_failure}; choose restart, or name ranks and steps, such as 1@step:20."
        )
    steps = params.epochs * -(-count // (params.batch * ranks))
    check_kills(parse_kills(params.kill), ranks, steps, restarts=params.on_failure == "restart")


RESTARTS = 10  # times that a run begins again
LOSE: Mapping[str, Any] = {"data": "digits", "epochs": 8, "pace": 0.1}
CROWDED: Mapping[str, Any] = {"threads": 1, "oversubscribe": True, "bind_to": "none"}

WORKLOAD = Workload(
    name="elastic",
    title="Training that survives",
    summary="Trains on handwritten digits, and goes on after ranks were killed: with fewer ranks, or with new ones.",
    params=ElasticParams,
    function="workshop.workloads.elastic.run:run",
    trains=True,
    inputs=inputs,
    fits=check_ranks,
    # The new ranks that a run may start beside its first ones.
    processes=lambda params: len(parse_kills(params.kill)) if params.on_failure == "grow" else 0,
    tolerates=lambda params: params.on_failure in ("shrink", "grow"),
    restarts=lambda params: RESTARTS if params.on_failure == "restart" else 0,
    curves=("loss", "accuracy", "ranks", "total images/s"),
    results=(
        "held_out_accuracy", "images_per_second", "next_step_seconds", "lost_steps", "repeated_steps", "exactly_once",
    ),
    metrics={
        **METRICS,
        "exactly_once": "each epoch read each image once",
        "kept_share": "share of the trained steps that were not lost",
        "lost_steps": "steps that were trained again",
        "next_step_seconds": "longest time to the next step after a loss [s]",
        "on_failure": "after a loss",
        "ranks": "ranks at the end",
        "repeated_steps": "steps that were under way and were repeated",
        "same_weights": "all ranks have the same weights",
    },
    notes={"ranks": "The number of ranks that took a step together."},
    scaling=Scaling(rate="images_per_second", unit="images/s", share="batch", total="epochs", live="total images/s"),
    order=210,
    lab="faults",
    rules="workshop.workloads.elastic",
    panels="workshop.workloads.elastic.report:PANELS",
    presets=(
        Preset("Lose a rank", "Rank 2 is killed, and three ranks go on.",
               {**LOSE, "kill": "2@step:30"}, {**CROWDED, "ranks": 4}),
        Preset("Lose rank 0", "The rank that reports is killed, and another one takes its place.",
               {**LOSE, "kill": "0@step:30"}, {**CROWDED, "ranks": 4}),
        Preset("Take a new rank in", "A new rank prepares itself and joins at the begin of an epoch.",
               {**LOSE, "epochs": 24, "kill": "1@step:20", "on_failure": "grow"}, {**CROWDED, "ranks": 3}),
    ),
)  # fmt: skip

EXTENSION = Extension(workloads=(WORKLOAD,))
