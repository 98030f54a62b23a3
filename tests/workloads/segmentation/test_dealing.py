"""Who has which patients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.segmentation import SegmentationParams
from workshop.workloads.segmentation.patients import dealt, held_out, patients, scanner_of
from workshop.workloads.segmentation.phantoms import COMMON

SMALL = {"size": 32, "institutions": 3, "patients": 12, "evaluate_images": 7}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["iid", "shift"]), st.integers(1, 60), st.integers(2, 400), st.floats(0.01, 0.99))
def test_every_patient_belongs_to_one_institution(partition, institutions, count, validation):
    params = SegmentationParams(partition=partition, institutions=institutions, patients=count, validation=validation)
    if count < 2 * institutions:
        with pytest.raises(BadInput) as refused:
            dealt(params)
        assert f"{institutions} institutions can't share {count} patients" in str(refused.value)
        return
    found = dealt(params)
    everybody = [
        number for parts in zip(found.validation, found.train, strict=True) for part in parts for number in part
    ]
    assert sorted(everybody) == list(range(count))
    assert min(map(len, found.train)) >= 1 and min(map(len, found.validation)) >= 1
    sizes = [len(train) + len(own) for train, own in zip(found.train, found.validation, strict=True)]
    assert max(sizes) - min(sizes) <= 1


def test_scanners_differ_in_a_shift_alone():
    assert {scanner_of(SegmentationParams(partition="iid"), one) for one in range(4)} == {COMMON}
    assert len({scanner_of(SegmentationParams(partition="shift"), one) for one in range(4)}) == 4


def test_bodies_are_the_same_whatever_the_partition():
    shift, alike = (SegmentationParams(**SMALL, partition=name) for name in ("shift", "iid"))
    one, other = patients(shift, 1, range(4, 8)), patients(alike, 1, range(4, 8))
    assert [who.anatomy for who in one.people] == [who.anatomy for who in other.people]
    assert np.abs(one.images - other.images).mean() > 0.005, "but not what scanners make of them"


def test_held_out_patients_are_nobodys_and_on_everybodys_scanners():
    params = SegmentationParams(**SMALL)
    tested = held_out(params)
    assert tested.images.shape == (7, 32, 32, 2) and tested.masks.shape == (7, 32, 32, 1)
    theirs = [who.anatomy for one in range(3) for who in patients(params, one, range(12)).people]
    assert not any(who.anatomy in theirs for who in tested.people)
    alike = held_out(SegmentationParams(**SMALL, partition="iid"))
    assert [who.anatomy for who in alike.people] == [who.anatomy for who in tested.people]
