"""A real federation with OpenFL: an aggregator and collaborators that are processes of their own, each with its key and
certificate, and everything between them over mutual TLS. This file only describes it.

`environment` installs OpenFL in an environment of its own, whose Python runs the files in `inside`. `fx` runs OpenFL's
commands, `workspace` writes what they read, and `log_reader` reads what they write. `pki` has the order in which keys,
requests and certificates come about. `backends` and `status` are what the command line has to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED
from workshop.extension import Artifacts, Command, Extension, Workload
from workshop.workloads.federated import Dealt, Digits, FederatedParams
from workshop.workloads.federated.params import LEARNING, Epochs, EvaluateImages, Rate, Validation

MOST = 16  # collaborators: each is a process with TensorFlow
Fault = Literal["none", "foreign-certificate", "other-name", "expired-certificate", "dies", "restart"]


class OpenFLParams(Dealt, Digits):
    """Who has which images, how they learn from them, and what goes wrong on purpose."""

    collaborators: int = Field(3, ge=1, le=MOST, description="institutions, each a process with a key of its own")
    rounds: int = Field(5, ge=1, le=200, description="times that models are brought together")
    fault: Fault = Field(
        "none",
        description="what goes wrong on purpose: a certificate of another authority, a valid one under another's name, "
        "one that has expired, a collaborator that is killed in round 2, or an aggregator that is killed and started "
        "again",
        json_schema_extra={"part": "Break it"},
    )
    epochs: Epochs = 2
    batch: int = Field(32, ge=1, le=60_000, description="images in a step", json_schema_extra=LEARNING)
    rate: Rate = 0.1
    model: Literal["cnn", "dense"] = Field("cnn", description="the network", json_schema_extra=ADVANCED)
    validation: Validation = 0.2
    evaluate_images: EvaluateImages = 2000
    patience: float = Field(
        10.0,
        ge=1,
        le=3600,
        allow_inf_nan=False,
        description="for the fault dies: seconds after which a round goes on without those that are missing",
        json_schema_extra={**ADVANCED, "when": {"fault": "dies"}},
    )
    limit: float = Field(
        300.0,
        ge=5,
        le=86_400,
        allow_inf_nan=False,
        description="seconds that a round may take before the run gives up",
        json_schema_extra=ADVANCED,
    )
    seed: int = Field(
        0, ge=0, le=2**31 - 1, description="seed of weights, shares and order", json_schema_extra=ADVANCED
    )

    @model_validator(mode="after")
    def _something_is_left(self) -> OpenFLParams:
        """A fault leaves a federation that can go on."""
        if self.fault in ("dies", "other-name") and self.collaborators < 2:
            raise ValueError(f"fault is {self.fault}, for which there have to be at least 2 collaborators")
        if self.fault in ("dies", "restart") and self.rounds < 3:
            raise ValueError(f"fault is {self.fault}, which happens in round 2; take at least 3 rounds")
        return self

    def as_federated(self) -> FederatedParams:
        """The same settings as a run of the workload `federated` has them: with the same weights to begin with, the
        same images for each institution, and the same batches in the same order."""
        same = self.model_dump(exclude={"collaborators", "fault", "patience", "limit"})
        return FederatedParams(**same, institutions=self.collaborators)


def _inputs(params: OpenFLParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    from workshop.engine.data import images
    from workshop.workloads.openfl import environment

    environment.require()
    return images.find(params.data)


def _fits(params: OpenFLParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Any number of ranks will do; but there have to be images for all institutions."""
    from workshop.engine.data import images
    from workshop.workloads.federated.partition import partition

    partition(params.as_federated(), images.read(inputs).train_labels)


WORKLOAD = Workload(
    name="openfl",
    title="A real federation with OpenFL",
    summary="OpenFL's aggregator and collaborators with keys, certificates and TLS, on the same images and network.",
    params=OpenFLParams,
    function="workshop.workloads.openfl.run:run",
    trains=True,
    inputs=_inputs,
    fits=_fits,
    processes=lambda params: params.collaborators + 1,
    curves=("accuracy", "loss"),
    results=("held_out_accuracy", "own_accuracy", "rounds", "seconds_per_round"),
    verdict="workshop.workloads.openfl.verdict:VERDICT",
    panels="workshop.workloads.openfl.panels:PANELS",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    commands=(
        Command("", "federation", "workshop.workloads.openfl.command:app"),
        Command("bench", "federated", "workshop.workloads.openfl.bench_command:federated", order=500),
    ),
    checks=("workshop.workloads.openfl.check:openfl",),
)
