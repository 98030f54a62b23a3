"""The images of a run: pure functions of the params, the same on every rank.

Sparse images are whole slices, as `workshop.workloads.segmentation.phantoms` draws them. Dense ones are windows of half
the side around a lesion, as pipelines cut patches out of scans; the lesion is anywhere in the middle half of it, so
that its place gives nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from workshop.engine.training.batches import Batches
from workshop.workloads.segmentation.patients import HELD_OUT, PRIVATE, Patients
from workshop.workloads.segmentation.phantoms import COMMON, Patient, patient, scans

if TYPE_CHECKING:
    from workshop.workloads.unet import UnetParams

WINDOW = 55  # stream of a seed
ZOOM = 2  # times that a slice is as wide as a dense image


def batches(params: UnetParams, ranks: int) -> Batches:
    """Which training images each of so many ranks reads in which step. Raises BadInput."""
    return Batches(params.patients, ranks, params.batch, params.seed)


def training(params: UnetParams, numbers: Iterable[int]) -> Patients:
    """The training images of these numbers, from 0 to `params.patients` - 1."""
    return _slices(params, [(params.seed, PRIVATE, int(number)) for number in numbers])


def held_out(params: UnetParams, numbers: Iterable[int]) -> Patients:
    """The held-out images of these numbers, from 0 to `params.evaluate_images` - 1."""
    return _slices(params, [(params.seed, HELD_OUT, int(number)) for number in numbers])


def _slices(params: UnetParams, keys: Iterable[tuple[int, ...]]) -> Patients:
    size, people = params.size, list[Patient]()
    parts = [(np.empty((0, size, size, 2), np.float32), np.empty((0, size, size, 1), np.float32))]
    for key in keys:
        if params.images == "sparse":
            person = patient(key, COMMON)
            parts.append(scans([person], [key], [COMMON], size))
        else:
            # Of the patients of a number, the first with lesions.
            candidates = (((*key, draw), patient((*key, draw), COMMON)) for draw in count())
            key, person = next((key, person) for key, person in candidates if person.lesions)
            rows, columns = _window(person, key, size)
            image, mask = scans([person], [key], [COMMON], ZOOM * size)
            parts.append((image[:, rows, columns], mask[:, rows, columns]))
        people.append(person)
    images, masks = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Patients(tuple(people), images, masks)


def _window(person: Patient, key: tuple[int, ...], size: int) -> tuple[slice, slice]:
    """The rows and columns of a slice, ZOOM times `size` wide, that hold the patient's first lesion."""
    stream = np.random.RandomState([WINDOW, *key])
    lesion, width = person.lesions[0].shape, ZOOM * size
    corners = [
        int(np.clip((centre + 1) / 2 * width - size * stream.uniform(0.25, 0.75), 0, width - size))
        for centre in (lesion.y, lesion.x)
    ]
    return slice(corners[0], corners[0] + size), slice(corners[1], corners[1] + size)
