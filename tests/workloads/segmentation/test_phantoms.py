"""Made-up patients: the same for the same seed, and with what a network is to learn from."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.workloads.segmentation.phantoms import (
    BENIGN,
    COMMON,
    HOT,
    LESIONS,
    Detector,
    ScannerModel,
    patient,
    scanner,
    scans,
)

SIZE = 64
PLAIN = Detector(1.0, 0.0, 0.0, 0.0)  # shows what is there
CLEAR = ScannerModel(PLAIN, PLAIN, 4.0, 0.25)


@pytest.fixture(scope="module")
def people():
    return [patient((5, 0, number), CLEAR) for number in range(120)]


def taken(keys, own=CLEAR, size=SIZE):
    return scans([patient(key, own) for key in keys], keys, [own] * len(keys), size)


def test_a_key_is_a_patient_in_every_process():
    """Digests of masks, which no rounding changes: written down when the generator was made."""
    _, masks = taken([(0, 0, number) for number in range(20)], COMMON)
    assert hashlib.sha256(np.packbits(masks > 0).tobytes()).hexdigest()[:16] == "b089fb5103fa8cb7"


@settings(max_examples=20, deadline=None)
@given(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 1), st.integers(0, 5000)), st.integers(0, 300))
def test_any_patient_can_be_seen(key, institution):
    own = scanner(institution, key[0])
    images, masks = taken([key], own, 32)
    again, same = taken([key], own, 32)
    assert images.dtype == masks.dtype == np.float32
    assert images.shape == (1, 32, 32, 2) and masks.shape == (1, 32, 32, 1)
    assert images.min() >= 0 and images.max() <= 1 and images.std() > 0
    assert set(np.unique(masks)) <= {0, 1} and masks.mean() < 0.2
    np.testing.assert_array_equal(images, again)
    np.testing.assert_array_equal(masks, same)


def test_numbers_of_findings_are_those_that_are_told(people):
    lesions = [len(one.lesions) for one in people]
    shares = [lesions.count(count) / len(people) for count in range(len(LESIONS))]
    assert shares == pytest.approx(LESIONS, abs=0.12)
    for one in people:
        benign = sum(found.denser > 0 and not found.hotter for found in one.findings)
        hot = sum(found.hotter > 0 and not found.denser for found in one.findings)
        assert benign <= max(BENIGN) and hot <= max(HOT)
    assert sum(len(one.findings) for one in people) > 3 * len(people)


def test_masks_are_where_the_lesions_are(people):
    for one in people[:40]:
        mask = one.mask(SIZE)
        assert mask.any() == bool(one.lesions)
        for found in one.lesions:
            row, column = (int((place + 1) / 2 * SIZE) for place in (found.shape.y, found.shape.x))
            assert mask[row, column]
        for found in one.findings:
            if not found.lesion:
                assert (found.shape.mask(SIZE) & mask).sum() <= 0.25 * found.shape.mask(SIZE).sum()


def test_lesions_are_dense_and_hot_and_each_misleads_by_itself(people):
    """By how much findings stand out in what they are made of, against the same body without them."""
    for one in people[:30]:
        density, uptake = one.slices(SIZE)
        plain = type(one)(one.anatomy, ()).slices(SIZE)
        for found in one.findings:
            inside = found.shape.scaled(0.7).mask(SIZE)
            denser, hotter = (
                (now - before)[inside].mean() for now, before in zip((density, uptake), plain, strict=True)
            )
            assert (denser > 0.08) == (found.denser > 0)
            assert (hotter > 0.4) == (found.hotter > 0)


def test_institutions_differ_in_all_that_their_scanners_do():
    own = [scanner(one, 0) for one in range(4)]
    for part in ("ct", "pet"):
        for name in ("contrast", "offset", "noise", "blur"):
            values = {getattr(getattr(one, part), name) for one in own}
            assert len(values) == 4, (part, name)
    assert len({one.radius for one in own}) == len({one.spread for one in own}) == 4
    assert scanner(2, 0) == scanner(2, 0) != scanner(2, 1)


def test_a_detector_does_what_it_says():
    plane = np.zeros((SIZE, SIZE))
    plane[20:40, 20:40] = 0.5
    stream = np.random.RandomState(0)
    seen = Detector(0.8, 0.1, 0.0, 0.0).picture(plane, stream)
    np.testing.assert_allclose(seen, 0.1 + 0.8 * plane, atol=1e-6)
    blurred = Detector(1.0, 0.0, 0.0, 2.0).picture(plane, stream)
    assert blurred[30, 30] == pytest.approx(0.5, abs=1e-3) and 0 < blurred[30, 18] < 0.25
    flat = np.full_like(plane, 0.5)
    for grain in (0.0, 0.9):
        noise = Detector(1.0, 0.0, 0.05, 0.0).picture(flat, stream, grain)[8:-8, 8:-8] - 0.5
        assert noise.std() == pytest.approx(0.05, rel=0.12)
        beside = np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1]
        assert (beside > 0.5) == (grain > 0), "specks of noise are wider than a pixel"
