"""A real federation with OpenFL: the aggregator and the collaborators are separate processes, each with its key and
certificate, and talk over mutual TLS. This file only describes the workload.

`environment` installs OpenFL in an environment of its own. `run` runs the whole federation on rank 0: `fx` runs
OpenFL's commands, `workspace` writes their files, `parties` has the folders, the processes and their logs, and
`results` emits the rounds' results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, setting
from workshop.extension import Artifacts, Command, Extension, Preset, Workload
from workshop.workloads import federated, segmentation
from workshop.workloads.federated import DataParams, FederatedParams, PartitionParams
from workshop.workloads.federated.params import LEARNING, PRIVATE, Epochs, Rate
from workshop.workloads.segmentation import SegmentationParams

LESIONS = {"partition": "shift", "rate": 0.002, "batch": 4, "epochs": 3}  # defaults of the task `segmentation`


class OpenFLParams(PartitionParams, DataParams):
    """The partition of the images, how institutions learn, and what goes wrong on purpose."""

    task: Literal["digits", "segmentation"] = setting(
        "digits",
        "what institutions learn: to read digits, or to outline lesions with a U-Net and Adam; that takes another "
        "partition, rate, batch and epochs, unless they are set",
        LEARNING,
    )
    partition: Literal["iid", "dirichlet", "label", "shift"] = setting(
        "dirichlet",
        "how images are dealt: alike; digits in different shares, or few of them each; patients with a scanner of each "
        "institution's own",
        PRIVATE,
    )
    patients: int = setting(
        60, "patients of all institutions together", PRIVATE, {"task": "segmentation"}, ge=2, le=5000
    )
    collaborators: int = Field(3, ge=1, le=16, description="institutions, each a process with a key of its own")
    rounds: int = Field(5, ge=1, le=200, description="how often models are combined")
    fault: Literal["none", "foreign-certificate", "dies"] = setting(
        "none",
        "what goes wrong on purpose: somebody has a certificate of another authority, or a collaborator is killed in "
        "round 2",
        {"part": "Break it"},
    )
    epochs: Epochs = 2
    batch: int = setting(32, "images in a step", LEARNING, ge=1, le=60_000)
    rate: Rate = 0.1
    model: Literal["cnn", "dense"] = setting("cnn", "the network", ADVANCED)
    seed: int = setting(0, "seed of weights, shares and order", ADVANCED, ge=0, le=2**31 - 1)

    @model_validator(mode="before")
    @classmethod
    def _suit_task(cls, values: Any) -> Any:
        segments = isinstance(values, Mapping) and values.get("task") == "segmentation"
        return {**LESIONS, **values} if segments else values

    @model_validator(mode="after")
    def _something_is_left(self) -> OpenFLParams:
        """A fault leaves a federation that can go on."""
        if self.fault == "dies" and (self.collaborators < 2 or self.rounds < 3):
            raise ValueError("fault is dies, which leaves others in round 2; take 2 collaborators and 3 rounds or more")
        if self.task == "segmentation" and self.partition in ("dirichlet", "label"):
            raise ValueError(f"partition is {self.partition}, which deals digits; take iid or shift")
        if self.task == "digits" and self.partition == "shift":
            raise ValueError(f"partition is {self.partition}, which deals patients; take iid, dirichlet or label")
        return self

    def as_federated(self) -> FederatedParams | SegmentationParams:
        """The same settings as params of the workload `federated` or `segmentation`: the same weights, images, batches
        and order."""
        if self.task == "segmentation":
            same = self.model_dump(include={*LESIONS, "patients", "rounds", "seed"})
            return SegmentationParams(**same, institutions=self.collaborators)
        same = self.model_dump(exclude={"collaborators", "fault", "task", "patients"})
        return FederatedParams(**same, institutions=self.collaborators)


def _inputs(params: OpenFLParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    from workshop.workloads.mnist.data import images
    from workshop.workloads.openfl import environment

    environment.require()
    return {} if params.task == "segmentation" else images.find(params.data)


def _fits(params: OpenFLParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Raise BadInput where there are too few images for all institutions. Any number of ranks will do: rank 0 runs the
    federation."""
    same = params.as_federated()
    (segmentation if isinstance(same, SegmentationParams) else federated).WORKLOAD.fits(same, inputs, ranks)


WORKLOAD = Workload(
    name="openfl",
    title="A real federation with OpenFL",
    summary="OpenFL's aggregator and collaborators with keys, certificates and TLS, on the same images and network. It "
    "takes some minutes.",
    params=OpenFLParams,
    function="workshop.workloads.openfl.run:run",
    trains=True,
    inputs=_inputs,
    fits=_fits,
    processes=lambda params: params.collaborators + 1,
    curves=("accuracy", "Dice", "loss"),
    results=("held_out_accuracy", "own_accuracy", "held_out_dice", "own_dice", "rounds", "seconds_per_round"),
    metrics={
        **segmentation.WORKLOAD.metrics,
        "openfl": "version of OpenFL",
    },
    order=460,
    lab="federated",
    presets=(
        Preset(
            "Outline lesions",
            "A U-Net in place of the digits' network.",
            {"task": "segmentation", **LESIONS, "collaborators": 2},
        ),
        Preset(
            "A foreign certificate",
            "The aggregator refuses a collaborator whose certificate another authority has signed.",
            {"collaborators": 2, "rounds": 3, "fault": "foreign-certificate"},
        ),
    ),
    rules="workshop.workloads.openfl",
    panels="workshop.workloads.openfl.facts:PANELS",
    missing="workshop.workloads.openfl.environment:missing",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    commands=(Command("", "federation", "workshop.workloads.openfl.command:app"),),
    checks=("workshop.workloads.openfl.environment:check",),
)
