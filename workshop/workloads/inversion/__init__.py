"""An attack on privacy: a curious aggregator reconstructs an institution's images from its update. This file only
describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from workshop.core.errors import BadInput
from workshop.engine.fields import ADVANCED, Data, Pace
from workshop.extension import Artifacts, Extension, Params, Preset, Workload

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
    protect: Literal["none", "clip-noise", "topk", "8bit", "sum", "epochs"] = Field(
        "none",
        description="send the update as it is, clipped and with noise, its largest values only, in eight bits, only as "
        "a sum over institutions, or after several steps on the same images",
        json_schema_extra=PROTECTION,
    )
    clip: float = Field(
        1.0,
        gt=0,
        le=1e6,
        allow_inf_nan=False,
        description="for clip-noise: length beyond which an update is shortened",
        json_schema_extra={**PROTECTION, "when": {"protect": "clip-noise"}},
    )
    noise: float = Field(
        0.03,
        ge=0,
        le=1e6,
        allow_inf_nan=False,
        description="for clip-noise: standard deviation of the noise on each value, in units of clip",
        json_schema_extra={**PROTECTION, "when": {"protect": "clip-noise"}},
    )
    keep: float = Field(
        0.01,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="for topk: share of the values that is sent",
        json_schema_extra={**PROTECTION, "when": {"protect": "topk"}},
    )
    institutions: int = Field(
        8,
        ge=2,
        le=64,
        description="for sum: how many add up their updates, each with images of its own",
        json_schema_extra={**PROTECTION, "when": {"protect": "sum"}},
    )
    steps: int = Field(
        5,
        ge=2,
        le=10_000,
        description="for epochs: local steps before the update is sent",
        json_schema_extra={**PROTECTION, "when": {"protect": "epochs"}},
    )
    rate: float = Field(
        0.1,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="learning rate of the institution",
        json_schema_extra=ADVANCED,
    )
    starts: int = Field(
        4, ge=1, le=64, description="beginnings of the search, of which the best goes on", json_schema_extra=ADVANCED
    )
    smooth: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = Field(
        None,
        description="weight by which the search prefers smooth pictures; empty: 0.0001, with clip-noise 0.01",
        json_schema_extra=ADVANCED,
    )
    seed: int = Field(
        0, ge=0, le=2**31 - 1, description="seed of images, weights, noise and beginnings", json_schema_extra=ADVANCED
    )
    pace: Pace = Field(
        0,
        description="least seconds between two looks at the search, to watch it",
        json_schema_extra={**ADVANCED, "unit": "s"},
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


def _inputs(params: InversionParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """The images that params name. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    return images.find(params.data)


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
    inputs=_inputs,
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
    verdict="workshop.workloads.inversion.verdict:VERDICT",
    panels="workshop.workloads.inversion.panels:PANELS",
)

EXTENSION = Extension(workloads=(WORKLOAD,))
