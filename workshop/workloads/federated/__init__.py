"""Federated learning on handwritten digits: institutions learn one model together, and images stay on their ranks.
This file only describes the workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from workshop.engine.fields import ADVANCED, Data, setting
from workshop.extension import Command, Extension, Page, Params, Preset, RunPrediction, Scaling, Study, Workload
from workshop.workloads.federated.params import METRICS, PRIVATE, Learning, Together
from workshop.workloads.mnist.data import inputs

if TYPE_CHECKING:
    Dealing = str  # OpenFL deals patients, too
else:
    Dealing = Literal["iid", "dirichlet", "label"]


class DataParams(Params):
    """Where the images come from."""

    data: Data = "auto"


class PartitionParams(Params):
    """How images are dealt to institutions."""

    partition: Dealing = setting(
        "dirichlet", "how images are dealt: equally, digits in different shares, or few digits each", PRIVATE
    )
    alpha: float = setting(
        0.3,
        "for dirichlet: the smaller, the more the institutions' digits differ",
        PRIVATE,
        {"partition": "dirichlet"},
        gt=0,
        le=1e6,
    )
    classes: int = setting(
        3, "for label: how many of the ten digits each institution has", PRIVATE, {"partition": "label"}, ge=1, le=10
    )
    images: Annotated[int, Field(ge=2, le=60_000)] | None = setting(
        None, "deal out so many images only; empty: all", ADVANCED
    )


class FederatedParams(Learning, PartitionParams, Together, DataParams):
    """The partition of the images, and how institutions learn."""

    model: Literal["cnn", "dense"] = setting("cnn", "the network", ADVANCED)


def _fits(params: FederatedParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Raise BadInput where there are too few images for all institutions. Any number of ranks will do."""
    from workshop.workloads.federated.mathematics.partition import partition
    from workshop.workloads.mnist.data import images

    partition(params, images.read(inputs).train_labels)


WORKLOAD = Workload(
    name="federated",
    title="Federated learning",
    summary="Institutions train one model together without sharing images; beside it, pooled images and each alone.",
    params=FederatedParams,
    function="workshop.workloads.federated.run:run",
    trains=True,
    inputs=inputs,
    fits=_fits,
    curves=("accuracy", "loss", "total images/s", "drift"),
    results=("held_out_accuracy", "own_accuracy", "rounds", "images_per_second"),
    metrics=METRICS,
    scaling=Scaling(rate="images_per_second", unit="images/s", total="rounds", live="total images/s"),
    notes={
        "drift": "How far institutions' updates are from their mean, relative to its length; 0: all go the same way."
    },
    order=400,
    lab="federated",
    prediction=RunPrediction("held_out_accuracy", "Which share of the held-out images will it read right?", "%", 100),
    presets=(
        Preset("Together or alone", "One model for all, pooled images, and each alone.", {"way": "all", "rounds": 8}),
        Preset(
            "Few digits each",
            "Institutions that have two digits each pull the model apart: look at the drift.",
            {"way": "federated", "partition": "label", "classes": 2},
        ),
        Preset(
            "Poison one institution",
            "It sends its update turned round and enlarged; the mean follows it.",
            {"way": "federated", "attack": "scale", "rounds": 8},
        ),
    ),
    rules="workshop.workloads.federated",
    panels="workshop.workloads.federated.report.panels:PANELS",
    failures="workshop.workloads.federated.failures:failures",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    studies=(
        Study(
            "ways",
            kind="workshop.workloads.federated.study.kind:KIND",
            plan="workshop.workloads.federated.study.notebook:plan",
            workload="federated",
            form="workshop.workloads.federated.study.plan:FORM",
            page="federated",
        ),
    ),
    pages=(
        Page(
            "federated",
            "Three ways to learn",
            "diversity_3",
            "workshop.workloads.federated.page:page",
            order=450,
            summary="Institutions learn alone, together in one place, or together while their data stays at home.",
            picture=Path(__file__).parent / "federated.svg",
        ),
    ),
    commands=(
        Command(
            "study run",
            "ways",
            "workshop.workloads.federated.study.command:ways",
            {"context_settings": {"ignore_unknown_options": True, "allow_extra_args": True}},
            order=400,
        ),
    ),
)
