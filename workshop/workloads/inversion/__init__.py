"""An attack on privacy: a curious aggregator reconstructs an institution's images from its update. This file only
describes it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from workshop.core.errors import BadInput
from workshop.engine.fields import ADVANCED, Data, setting
from workshop.extension import Extension, Params, Preset, Workload
from workshop.workloads.mnist.data import inputs

CLASSES = 10
MOST_IMAGES = 64  # images behind an update


class InversionParams(Params):
    """The attacked update."""

    data: Data = "auto"
    images: int = Field(1, ge=1, le=MOST_IMAGES, description="images behind an update")
    digit: int = Field(5, ge=0, le=9, description="what rank 0's first image shows; rank 1's shows the next digit")
    rate: float = setting(0.1, "learning rate of the institution", ADVANCED, gt=0, le=100)
    seed: int = setting(0, "seed of images and weights", ADVANCED, ge=0, le=2**31 - 1)


def _fits(params: InversionParams, inputs: Mapping[str, bytes], ranks: int) -> None:
    """Refuse what the images are too few for. Raises BadInput."""
    from workshop.workloads.mnist.data import images

    labels = images.read(inputs).train_labels
    if params.images > len(labels):
        raise BadInput(f"There are only {len(labels)} images to train on, and images is {params.images}; take fewer.")


def first_digits(params: InversionParams, ranks: int) -> list[int]:
    """The digit of the first image of each rank's institution."""
    return [(params.digit + rank) % CLASSES for rank in range(ranks)]


WORKLOAD = Workload(
    name="inversion",
    title="What an update gives away",
    summary="A curious aggregator recovers an institution's digits from the update that it sends.",
    params=InversionParams,
    function="workshop.workloads.inversion.run:run",
    trains=True,
    inputs=inputs,
    fits=_fits,
    results=("images", "labels_right", "likeness", "correlation"),
    metrics={
        "correlation": "correlation of pictures and images",
        "data": "images from",
        "images": "attacked images",
        "labels_right": "digits read correctly from the update",
        "likeness": "likeness of pictures and images [dB]",
        "parameters": "weights of the network",
        "seconds.attack": "time of the attack",
        "seconds.prepare": "time of preparing images and update",
        "train_images": "images to train on",
    },
    notes={
        "likeness": "The peak signal-to-noise ratio of the attacker's pictures to the true images, in dB; a mean.",
        "correlation": "Of the pixels of the attacker's pictures and of the true images: a mean.",
    },
    order=440,
    lab="privacy",
    presets=(
        Preset("Read an update", "The attacker recovers the image behind it.", {}),
        Preset("Eight images", "The attacker takes a mixture of images apart.", {"images": 8}),
    ),
    rules="workshop.workloads.inversion",
    panels="workshop.workloads.inversion.report:PANELS",
    star="inversion",
)

EXTENSION = Extension(workloads=(WORKLOAD,))
