"""Data-parallel segmentation: all ranks train one U-Net to outline lesions. This file only describes it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal

from pydantic import Field, model_validator

from workshop.engine.fields import ADVANCED, Exchange, setting
from workshop.engine.training import METRICS
from workshop.extension import Extension, Preset, Scaling, Workload
from workshop.workloads.segmentation import Net
from workshop.workloads.segmentation.unet import DEPTH

LEVELS = DEPTH + 1
SWITCHES: dict[str, Any] = {"part": "Switches of the network"}


class UnetParams(Net):
    """The params of the training: the images, the network and its loss, and the exchange of gradients."""

    images: Literal["dense", "sparse"] = Field(
        "dense",
        description="sparse: whole slices, of which few pixels are lesions and some have none; dense: windows half as "
        "wide, each with a lesion",
    )
    patients: int = Field(192, ge=2, le=5000, description="images to train on, one of each made-up patient")
    size: int = setting(64, "side of the square images", {"unit": "pixels"}, ge=32, le=128, multiple_of=2**DEPTH)
    exchange: Exchange = "auto"
    epochs: int = Field(10, ge=1, le=1000, description="times that all images are read")
    batch: int = Field(4, ge=1, le=1024, description="images of each rank in a step")
    rate: float = Field(0.002, gt=0, le=1, description="learning rate of Adam")
    attention: bool = setting(False, "gates that choose which details are handed across", SWITCHES)
    dropout: str = setting(
        "0",
        "share of values that training leaves out at random: one rate for all levels, or one for each from "
        "the first to the bottom, such as 0,0,0.1,0.2",
        SWITCHES,
        max_length=100,
    )
    target: float = Field(0.75, gt=0, le=1, description="held-out Dice score to which the time is taken")
    evaluate_images: int = setting(48, "held-out patients that the network is tested on", ADVANCED, ge=1, le=5000)
    seed: int = setting(0, "seed of patients and weights", ADVANCED, ge=0, le=2**31 - 1)

    @property
    def dropout_rates(self) -> tuple[float, ...]:
        """The rate of each level, from the first to the bottom. Raises ValueError for others."""
        rates = tuple(map(float, self.dropout.split(",")))
        return rates if len(rates) > 1 else rates * LEVELS

    @model_validator(mode="after")
    def _fits_network(self) -> UnetParams:
        with suppress(ValueError):  # not numbers
            if len(self.dropout_rates) == LEVELS and all(0 <= rate < 1 for rate in self.dropout_rates):
                return self
        raise ValueError(
            f"dropout is {self.dropout!r}, but the network has {LEVELS} levels; give one rate for all or {LEVELS}, "
            "separated by commas, each at least 0 and less than 1"
        )


def _fits(params: UnetParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse a batch that is larger than a rank's share. Raises BadInput."""
    from workshop.workloads.unet.slices import batches

    batches(params, ranks)


WORKLOAD = Workload(
    name="unet",
    title="Data-parallel U-Net",
    summary="Trains one network on all ranks to outline lesions in CT and PET of made-up patients.",
    params=UnetParams,
    function="workshop.workloads.unet.run:run",
    trains=True,
    fits=_fits,
    curves=("loss", "held-out Dice", "Dice", "total images/s"),
    results=("held_out_dice", "held_out_jaccard", "images_per_second", "time_to_target", "epochs_to_target", "spread"),
    metrics={
        **METRICS,
        "empty_images": "share of training images without a lesion [%]",
        "epochs": "epochs",
        "epochs_to_target": "epochs until the target",
        "held_out_dice": "held-out Dice score [%]",
        "held_out_jaccard": "held-out Jaccard index [%]",
        "lesion_pixels": "share of the training images' pixels that are lesions [%]",
        "model": "network",
        "target": "target Dice score",
    },
    # The same batch over all ranks takes the same learning rate; twice the ranks read twice as much in the same time.
    scaling=Scaling(rate="images_per_second", unit="images/s", share="batch", total="epochs", live="total images/s"),
    order=430,
    lab="federated",
    rules="workshop.workloads.unet",
    panels="workshop.workloads.unet.report:PANELS",
    star="overlays",
    presets=(
        Preset("Two ranks", "The outlines after each epoch, and the images/s.", {}, {"ranks": 2, "threads": 1}),
        Preset("One rank", "Two ranks' images/s divided by this rate are the speed-up.", {},
               {"ranks": 1, "threads": 1}),
        Preset("Attention gates and dropout", "Compare the held-out Dice score with that of the plain network.",
               {"attention": True, "dropout": "0,0,0.1,0.2"}, {"ranks": 2, "threads": 1}),
        Preset("Sparse images", "Few pixels are lesions: compare the losses dice and cross-entropy.",
               {"images": "sparse"}, {"ranks": 2, "threads": 1}),
    ),
)  # fmt: skip

EXTENSION = Extension(workloads=(WORKLOAD,))
