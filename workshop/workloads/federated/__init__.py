"""Federated learning on handwritten digits: institutions learn one model together, and nobody's images leave their
rank. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workshop.engine.fields import ADVANCED, Data
from workshop.extension import Artifacts, Command, Extension, Page, Scaling, Study, Workload
from workshop.workloads.federated.params import PRIVATE, FiniteParams, Learning, Together, setting


class DataParams(FiniteParams):
    """Where the images come from."""

    data: Data = "auto"


class PartitionParams(FiniteParams):
    """Who has which of them."""

    partition: Literal["iid", "dirichlet", "label", "shift", "unequal"] = setting(
        "dirichlet",
        "how images are dealt: alike, digits in other shares, few digits each, each with a scanner of its own, or many "
        "to some and few to others",
        PRIVATE,
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
    """Who has which images, and how they learn from them."""

    model: Literal["cnn", "dense"] = setting("cnn", "the network", ADVANCED)


def _inputs(params: FederatedParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    from workshop.engine.data import images

    return images.find(params.data)


def _fits(params: FederatedParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Any number of ranks will do; but there have to be images for all institutions."""
    from workshop.engine.data import images
    from workshop.workloads.federated.mathematics.partition import partition

    partition(params, images.read(inputs).train_labels)


WORKLOAD = Workload(
    name="federated",
    title="Federated learning",
    summary="Institutions train one model together without sharing images; beside it, pooled images and each alone.",
    params=FederatedParams,
    function="workshop.workloads.federated.run:run",
    trains=True,
    inputs=_inputs,
    fits=_fits,
    curves=("accuracy", "loss", "total images/s", "drift"),
    results=("held_out_accuracy", "own_accuracy", "rounds", "images_per_second"),
    scaling=Scaling(rate="images_per_second", unit="images/s", total="rounds", live="total images/s"),
    notes={
        "drift": "How far institutions' updates are from their mean, relative to its length; 0: all go the same way."
    },
    verdict="workshop.workloads.federated.report.verdict:VERDICT",
    panels="workshop.workloads.federated.report.panels:PANELS",
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
    studies=(
        Study(
            name="ways",
            kind="workshop.workloads.federated.study.kind:KIND",
            cards="workshop.workloads.federated.study.cards:cards",
            show="workshop.workloads.federated.study.terminal:show_ways",
            plan="workshop.workloads.federated.study.notebook:plan",
            visible="workshop.workloads.federated.study.guesses:visible",
            hidden="The page Federated asks what you expect; what came out is shown to those who have guessed.",
            workload="federated",
        ),
    ),
    pages=(Page("federated", "Federated", "diversity_3", "workshop.workloads.federated.page:page", order=450),),
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
