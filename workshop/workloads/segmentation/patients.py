"""The patients of each institution, and their scanners: pure functions of the params, the same on every rank.

A patient is a number, and belongs to one institution. The same numbers are the same bodies whatever the partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.data import shard
from workshop.workloads.federated.mathematics.partition import LEAST_IMAGES
from workshop.workloads.segmentation.phantoms import COMMON, Patient, ScannerModel, patient, scanner, scans

if TYPE_CHECKING:
    from workshop.workloads.segmentation import SegmentationParams

PRIVATE, HELD_OUT = 0, 1  # second number of a patient's key: those of institutions, and those of nobody


@dataclass(frozen=True)
class Patients:
    """Some patients with their scans, float32 [n, size, size, 2], and masks, float32 [n, size, size, 1]."""

    people: tuple[Patient, ...]
    images: NDArray[np.float32]
    masks: NDArray[np.float32]


@dataclass(frozen=True)
class PatientSplit:
    """Each institution's patients by number, for training and for validation."""

    train: tuple[range, ...]
    validation: tuple[range, ...]


def dealt(params: SegmentationParams) -> PatientSplit:
    """Deal the patients out. Raises BadInput where an institution would have too few."""
    many, count = params.institutions, params.patients
    if count < LEAST_IMAGES * many:
        raise BadInput(
            f"{many} institutions can't share {count} patients: each needs {LEAST_IMAGES}, one to learn from and one "
            f"to validate with; take at most {count // LEAST_IMAGES} institutions or at least {LEAST_IMAGES * many} "
            "patients."
        )
    parts = [range(*shard(count, many, institution)) for institution in range(many)]
    validation_counts = [min(max(round(params.validation * len(part)), 1), len(part) - 1) for part in parts]
    return PatientSplit(
        tuple(part[count:] for part, count in zip(parts, validation_counts, strict=True)),
        tuple(part[:count] for part, count in zip(parts, validation_counts, strict=True)),
    )


def scanner_of(params: SegmentationParams, institution: int) -> ScannerModel:
    return scanner(institution, params.seed) if params.partition == "shift" else COMMON


def patients(params: SegmentationParams, institution: int, numbers: Sequence[int]) -> Patients:
    """Some of an institution's patients."""
    scanner = scanner_of(params, institution)
    return _scanned(params, [(params.seed, PRIVATE, number) for number in numbers], [scanner] * len(numbers))


def held_out(params: SegmentationParams) -> Patients:
    """Patients whom no institution has, on everybody's scanners in turn."""
    count = params.evaluate_images
    scanners = [scanner_of(params, institution) for institution in range(min(params.institutions, count))]
    keys = [(params.seed, HELD_OUT, number) for number in range(count)]
    return _scanned(params, keys, [scanners[number % len(scanners)] for number in range(count)])


def _scanned(params: SegmentationParams, keys: Sequence[tuple[int, ...]], scanners: Sequence[ScannerModel]) -> Patients:
    people = tuple(patient(key, scanner) for key, scanner in zip(keys, scanners, strict=True))
    return Patients(people, *scans(people, keys, scanners, params.size))
