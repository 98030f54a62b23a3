"""An attack on privacy: a curious aggregator reconstructs an institution's images from its update. This file only
describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from workshop.core.errors import BadInput
from workshop.engine.fields import ADVANCED, Data, setting
from workshop.extension import Extension, Params, Preset, Workload
from workshop.workloads.mnist.data import inputs

CLASSES = 10
MOST = 64  # images behind what is attacked, at most
PROTECTION: dict[str, Any] = {"part": "How the update is protected"}


class InversionParams(Params):
    """The attacked update, the way of the attack, and the protection."""

    data: Data = "auto"
    model: Literal["cnn", "dense"] = Field(
        "cnn", description="the network: one with convolutions is searched, one without is solved in closed form"
    )
    images: int = Field(1, ge=1, le=16, description="images behind an update")
    digit: int = Field(5, ge=0, le=9, description="what rank 0's first image shows; rank 1's shows the next digit")
    iterations: int = Field(400, ge=1, le=100_000, description="steps of the search, for cnn")
    protect: Literal["none", "clip-noise", "topk", "8bit", "sum", "epochs"] = setting(
        "none",
        "send the update as it is, clipped and with noise, its largest values only, in eight bits, only as "
        "a sum over institutions, or after several steps on the same images",
        PROTECTION,
    )
    clip: float = setting(
        1.0,
        "for clip-noise: length beyond which an update is shortened",
        PROTECTION,
        {"protect": "clip-noise"},
        gt=0,
        le=1e6,
    )
    noise: float = setting(
        0.03,
        "for clip-noise: standard deviation of the noise on each value, in units of clip",
        PROTECTION,
        {"protect": "clip-noise"},
        ge=0,
        le=1e6,
    )
    keep: float = setting(
        0.01, "for topk: share of the values that is sent", PROTECTION, {"protect": "topk"}, gt=0, le=1
    )
    institutions: int = setting(
        8,
        "for sum: how many add up their updates, each with images of its own",
        PROTECTION,
        {"protect": "sum"},
        ge=2,
        le=64,
    )
    steps: int = setting(
        5, "for epochs: local steps before the update is sent", PROTECTION, {"protect": "epochs"}, ge=2, le=10_000
    )
    rate: float = setting(0.1, "learning rate of the institution", ADVANCED, gt=0, le=100)
    starts: int = setting(4, "beginnings of the search, of which the best goes on", ADVANCED, ge=1, le=64)
    smooth: Annotated[float, Field(ge=0, le=100)] | None = setting(
        None, "weight by which the search prefers smooth pictures; empty: 0.0001, with clip-noise 0.01", ADVANCED
    )
    seed: int = setting(0, "seed of images, weights, noise and beginnings", ADVANCED, ge=0, le=2**31 - 1)
    pace: float = setting(
        0, "least seconds between two looks at the search, to watch it", {**ADVANCED, "unit": "s"}, ge=0, le=10
    )

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if self.behind > MOST:
            raise ValueError(
                f"images is {self.images} and institutions is {self.institutions}, which makes {self.behind} images "
                f"behind the sum; take at most {MOST}"
            )
        return self

    @property
    def behind(self) -> int:
        """The images behind the update that the aggregator sees; for a sum, the images of all institutions."""
        return self.images * (self.institutions if self.protect == "sum" else 1)


def _fits(params: InversionParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse what the images are too few for. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    labels = images.read(inputs).train_labels
    if params.behind > len(labels):
        raise BadInput(
            f"{params.behind} images are behind what is sent, but there are only {len(labels)} to train on; take fewer "
            "images or institutions."
        )
    for digit in first_digits(params, ranks):
        if digit not in labels:
            raise BadInput(
                f"There is no image of the digit {digit} to train on, which one of the {ranks} ranks would send; take "
                "another digit or fewer ranks."
            )


def first_digits(params: InversionParams, ranks: int) -> list[int]:
    """The digit of the first image of each rank's institution."""
    return [(params.digit + rank) % CLASSES for rank in range(ranks)]


WORKLOAD = Workload(
    name="inversion",
    title="What an update gives away",
    summary="A curious aggregator recovers an institution's digits from the update that it sends; and what protects.",
    params=InversionParams,
    function="workshop.workloads.inversion.run:run",
    trains=True,
    inputs=inputs,
    fits=_fits,
    curves=("likeness", "distance", "correlation"),
    results=("images", "labels_right", "likeness", "correlation", "signal_to_noise"),
    metrics={
        "correlation": "correlation of pictures and images",
        "data": "images from",
        "images": "attacked images",
        "images_behind": "images behind each update",
        "iterations": "steps of the search",
        "labels_right": "digits read correctly from the update",
        "likeness": "likeness of pictures and images [dB]",
        "model": "network",
        "parameters": "weights of the network",
        "seconds.attack": "time of the attack",
        "seconds.prepare": "time of preparing images and update",
        "signal_to_noise": "update against its noise [dB]",
        "stopped": "stopped early",
        "train_images": "images to train on",
    },
    notes={
        "likeness": "The peak signal-to-noise ratio of the attacker's pictures to the true images, in dB; a mean.",
        "distance": "1 - the cosine of two gradients: the one that a rank's pictures would make, and the one seen.",
        "correlation": "Of the pixels of the attacker's pictures and of the true images: a rank's mean.",
    },
    order=440,
    lab="privacy",
    presets=(
        Preset("Read an update", "The attacker recovers the image behind it.", {"pace": 0.2}),
        Preset("Add noise", "Clipping and noise blur what the attacker sees.", {"protect": "clip-noise"}),
        Preset("Only the sum", "Eight institutions add up their updates.", {"protect": "sum"}),
    ),
    verdict="workshop.workloads.inversion.report:VERDICT",
    panels="workshop.workloads.inversion.report:PANELS",
)

EXTENSION = Extension(workloads=(WORKLOAD,))
