"""Tumour segmentation: institutions learn together to outline lesions in two-channel images, which a generator draws.
This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from workshop.engine.fields import ADVANCED, number, setting
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


class Net(Params):
    """The network that outlines lesions, and its training."""

    loss: Literal["dice", "jaccard", "tversky", "cross-entropy"] = setting(
        "dice", "what training makes small: 1 minus one of these overlaps, or the mean cross-entropy of pixels", LOSS
    )
    alpha: float = setting(0.3, "for tversky: what a pixel too many costs", TVERSKY, ge=0, le=10)
    beta: float = setting(0.7, "for tversky: what a pixel too few costs", TVERSKY, gt=0, le=10)


class SegmentationParams(Learning, Net, Together):
    """The params of the partition of patients, and of the institutions' training. Where the digits have other defaults,
    this network needs them: Adam, as the gradients of overlaps are small, and small batches of few patients."""

    modality: Literal["both", "ct", "pet"] = Field(
        "both", description="what the network sees: CT shows edges, PET shows what is active"
    )
    partition: Literal["iid", "shift"] = setting(
        "shift",
        "how patients are dealt: alike, or each institution with scanners and sizes of lesions of its own",
        PRIVATE,
    )
    patients: int = setting(120, "patients of all institutions together, an image of each", PRIVATE, ge=2, le=5000)
    size: Annotated[Literal[32, 64, 96], BeforeValidator(number)] = setting(
        64, "pixels of an image's side", {**ADVANCED, "unit": "pixels"}
    )
    rounds: Rounds = 16
    epochs: Epochs = 3
    batch: int = setting(4, "images in a step; at most as many as there are", LEARNING, ge=1, le=5000)
    rate: Rate = 0.002
    optimizer: Optimizer = "adam"
    evaluate_images: int = setting(120, "held-out patients that models are tested on", ADVANCED, ge=1, le=5000)


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
    function="workshop.workloads.segmentation.task:run",
    trains=True,
    fits=_fits,
    curves=("Dice", "loss", "total images/s", "drift"),
    results=("held_out_dice", "own_dice", "rounds", "images_per_second"),
    metrics={
        **METRICS,
        "held_out_deviation": "deviation of the held-out Dice score [%]",
        "held_out_dice": "held-out Dice score [%]",
        "own_dice": "Dice score on the institutions' own images [%]",
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
        Preset("Tversky's loss", "A missed pixel costs more than one too many.",
               {"way": "federated", "loss": "tversky", "alpha": 0.3, "beta": 0.7}),
    ),
    rules="workshop.workloads.federated",
    panels="workshop.workloads.segmentation.panels:PANELS",
    star="overlays",
)  # fmt: skip

EXTENSION = Extension(workloads=(WORKLOAD,))
