"""Tumour segmentation: institutions learn together to outline lesions in two-channel images, which a generator draws.
This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from workshop.engine.fields import ADVANCED, number
from workshop.extension import Extension, Params, Preset, Scaling, Workload
from workshop.workloads.federated.params import (
    LEARNING,
    METRICS,
    PRIVATE,
    Epochs,
    Learning,
    Optimizer,
    Rate,
    Rounds,
    Together,
)

CHANNELS = {"both": (0, 1), "ct": (0,), "pet": (1,)}  # of the scans, that the network sees
LOSS: dict[str, Any] = {"part": "The network and its loss"}
TVERSKY = {**LOSS, "when": {"loss": "tversky"}}


class Scans(Params):
    """The params of the images."""

    modality: Literal["both", "ct", "pet"] = Field(
        "both", description="what the network sees: CT shows edges, PET shows what is active"
    )
    size: Annotated[Literal[32, 64, 96], BeforeValidator(number)] = Field(
        64, description="pixels of an image's side", json_schema_extra={**ADVANCED, "unit": "pixels"}
    )


class PatientParams(Params):
    """The params of the partition of patients."""

    partition: Literal["iid", "shift", "unequal"] = Field(
        "shift",
        description="how patients are dealt: alike, each institution with scanners and sizes of lesions of its own, or "
        "many to some and few to others",
        json_schema_extra=PRIVATE,
    )
    patients: int = Field(
        120,
        ge=2,
        le=5000,
        description="patients of all institutions together, an image of each",
        json_schema_extra=PRIVATE,
    )


class Net(Params):
    """The network that outlines lesions, and its training."""

    loss: Literal["dice", "jaccard", "tversky", "cross-entropy"] = Field(
        "dice",
        description="what training makes small: 1 minus one of these overlaps, or the mean cross-entropy of pixels",
        json_schema_extra=LOSS,
    )
    alpha: float = Field(
        0.3,
        ge=0,
        le=10,
        allow_inf_nan=False,
        description="for tversky: what a pixel too many costs",
        json_schema_extra=TVERSKY,
    )
    beta: float = Field(
        0.7,
        gt=0,
        le=10,
        allow_inf_nan=False,
        description="for tversky: what a pixel too few costs",
        json_schema_extra=TVERSKY,
    )
    depth: int = Field(3, ge=1, le=4, description="times that the U-Net halves the image", json_schema_extra=ADVANCED)
    filters: int = Field(
        8,
        ge=4,
        le=64,
        multiple_of=4,
        description="channels of the U-Net's first level; each further one has twice as many",
        json_schema_extra=ADVANCED,
    )
    norm: Literal["none", "group", "batch"] = Field(
        "group",
        description="what is normalised within the network; batch: by means that institutions would have to average",
        json_schema_extra=ADVANCED,
    )


class SegmentationParams(Learning, Net, PatientParams, Together, Scans):
    """The params of the partition of patients, and of the institutions' training. Where the digits have other defaults,
    this network needs them: Adam, as the gradients of overlaps are small, and small batches of few patients."""

    rounds: Rounds = 16
    epochs: Epochs = 3
    batch: int = Field(
        4, ge=1, le=5000, description="images in a step; at most as many as there are", json_schema_extra=LEARNING
    )
    rate: Rate = 0.002
    optimizer: Optimizer = "adam"
    evaluate_images: int = Field(
        120, ge=1, le=5000, description="held-out patients that models are tested on", json_schema_extra=ADVANCED
    )


def _fits(params: SegmentationParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Any number of ranks will do; but there have to be patients for all institutions."""
    from workshop.workloads.segmentation.patients import dealt

    dealt(params)


WORKLOAD = Workload(
    name="segmentation",
    title="Tumour segmentation",
    summary="Institutions learn together to outline lesions in CT and PET of made-up patients; beside it, pooled and "
    "each alone.",
    params=SegmentationParams,
    function="workshop.workloads.segmentation.run:run",
    trains=True,
    fits=_fits,
    curves=("Dice", "loss", "total images/s", "drift"),
    results=("held_out_dice", "own_dice", "rounds", "images_per_second"),
    metrics={
        **METRICS,
        "held_out_deviation": "deviation of the held-out Dice score",
        "held_out_dice": "held-out Dice score",
        "own_dice": "Dice score on the institutions' own images",
    },
    scaling=Scaling(rate="images_per_second", unit="images/s", total="rounds", live="total images/s"),
    notes={
        "drift": "How far institutions' updates are from their mean, relative to its length; 0: all go the same way."
    },
    order=420,
    lab="federated",
    presets=(
        Preset("Together or alone", "One model for all, pooled images, and each alone.", {"way": "all", "rounds": 8}),
        Preset("CT alone", "Edges without activity: compare the Dice score.", {"way": "federated", "modality": "ct"}),
    ),
    verdict="workshop.workloads.federated.report.verdict:VERDICT",
    panels="workshop.workloads.segmentation.panels:PANELS",
)

EXTENSION = Extension(workloads=(WORKLOAD,))
