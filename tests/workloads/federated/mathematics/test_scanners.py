"""Each institution's own way of taking pictures."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.workloads.federated.mathematics.partition import DigitScanner, scanner

WHITE, BLACK = np.zeros((40, 28, 28, 1), np.float32), np.ones((40, 28, 28, 1), np.float32)


def test_contrast_and_offset_are_where_paper_and_ink_end_up():
    taken = DigitScanner(contrast=0.5, offset=0.2, noise=0.0)
    assert taken.scan(WHITE, (0,)).max() == pytest.approx(0.2)
    assert taken.scan(BLACK, (0,)).min() == pytest.approx(0.7)


def test_noise_has_the_deviation_asked_for_and_is_the_same_for_the_same_seed():
    noisy = DigitScanner(contrast=0.0, offset=0.5, noise=0.05)
    seen = noisy.scan(WHITE, (3, 1))
    assert seen.std() == pytest.approx(0.05, rel=0.02)
    assert np.array_equal(seen, noisy.scan(WHITE, (3, 1)))
    assert not np.array_equal(seen, noisy.scan(WHITE, (3, 2)))


def test_images_stay_within_what_networks_take():
    for institution in range(20):
        drawn = scanner(institution, 5)
        assert drawn.contrast + drawn.offset <= 1
        for images in (WHITE, BLACK):
            seen = drawn.scan(images, (institution,))
            assert (seen.dtype, seen.shape) == (np.float32, images.shape)
            assert 0 <= seen.min() <= seen.max() <= 1


def test_every_institution_has_its_own():
    assert len({scanner(institution, 5) for institution in range(20)}) == 20
    assert scanner(3, 5) == scanner(3, 5) != scanner(3, 6)
