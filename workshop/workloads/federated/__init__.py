"""Federated learning on handwritten digits: institutions learn one model together, and nobody's images leave their
rank. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workshop.workloads import Artifacts, Params, Scaling, Workload
from workshop.workloads.fields import ADVANCED, Data

MOST = 256  # institutions
PRIVATE = {"part": "Who has which images"}
LEARNING = {"part": "How institutions learn together"}


class FederatedParams(Params):
    """Who has which images, and how they learn from them."""

    data: Data = "auto"
    way: Literal["federated", "centralised", "alone", "all"] = Field(
        "federated",
        description="updates are averaged, images are pooled, each learns alone, or all three side by side",
        json_schema_extra={"page": "all"},
    )
    institutions: int = Field(
        4, ge=1, le=MOST, description="how many share the work; with fewer ranks, several live on one"
    )
    rounds: int = Field(15, ge=1, le=10_000, description="times that models are brought together")
    partition: Literal["iid", "dirichlet", "label", "shift", "unequal"] = Field(
        "dirichlet",
        description="how images are dealt: alike, digits in other shares, few digits each, each with a scanner of its "
        "own, or many to some and few to others",
        json_schema_extra=PRIVATE,
    )
    alpha: float = Field(
        0.3,
        gt=0,
        le=1e6,
        allow_inf_nan=False,
        description="for dirichlet: the smaller, the more the institutions' digits differ",
        json_schema_extra={**PRIVATE, "when": {"partition": "dirichlet"}},
    )
    classes: int = Field(
        3,
        ge=1,
        le=10,
        description="for label: how many of the ten digits each institution has",
        json_schema_extra={**PRIVATE, "when": {"partition": "label"}},
    )
    algorithm: Literal["fedavg", "fedprox", "fedadam"] = Field(
        "fedavg",
        description="average updates, hold local models near the shared one as well, or let Adam take the step",
        json_schema_extra=LEARNING,
    )
    mu: float = Field(
        0.1,
        ge=0,
        le=1000,
        allow_inf_nan=False,
        description="for fedprox: how strongly local models are held near the shared one",
        json_schema_extra={**LEARNING, "when": {"algorithm": "fedprox"}},
    )
    server_rate: float = Field(
        0.01,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="for fedadam: learning rate of the aggregator",
        json_schema_extra={**LEARNING, "when": {"algorithm": "fedadam"}},
    )
    epochs: int = Field(
        2,
        ge=1,
        le=1000,
        description="times that an institution reads its images in a round",
        json_schema_extra=LEARNING,
    )
    participation: float = Field(
        1.0,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="share of the institutions that learn in a round",
        json_schema_extra=LEARNING,
    )
    batch: int = Field(
        32, ge=1, le=60_000, description="images in a step; at most as many as there are", json_schema_extra=LEARNING
    )
    rate: float = Field(
        0.1,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="learning rate of the institutions",
        json_schema_extra=LEARNING,
    )
    model: Literal["cnn", "dense"] = Field("cnn", description="the network", json_schema_extra=ADVANCED)
    steps: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="steps of an institution in a round, in place of epochs", json_schema_extra=ADVANCED
    )
    validation: float = Field(
        0.2,
        gt=0,
        lt=1,
        allow_inf_nan=False,
        description="share of its images that each institution keeps to validate with",
        json_schema_extra=ADVANCED,
    )
    images: Annotated[int, Field(ge=2, le=60_000)] | None = Field(
        None, description="deal out so many images only; empty: all", json_schema_extra=ADVANCED
    )
    evaluate_images: Annotated[int, Field(ge=1, le=60_000)] | None = Field(
        2000, description="held-out images that models are tested on; empty: all", json_schema_extra=ADVANCED
    )
    seed: int = Field(
        0,
        ge=0,
        le=2**31 - 1,
        description="seed of weights, shares, order and participation",
        json_schema_extra=ADVANCED,
    )


def _inputs(params: FederatedParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    from workshop.engine.data import images

    return images.find(params.data)


def _fits(params: FederatedParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Any number of ranks will do; but there have to be images for all institutions."""
    from workshop.engine.data import images
    from workshop.workloads.federated.partition import partition

    partition(params, images.read(inputs).train_labels)


WORKLOAD = Workload(
    name="federated",
    title="Federated learning",
    summary="Institutions train one model together without sharing images; beside it, pooled images and each alone.",
    params=FederatedParams,
    function="workshop.workloads.federated.run:run",
    inputs=_inputs,
    fits=_fits,
    curves=("accuracy", "loss", "total images/s", "drift"),
    scaling=Scaling(rate="images_per_second", unit="images/s", total="rounds", live="total images/s"),
)
