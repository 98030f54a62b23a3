"""What protections make of an update, before anybody attacks it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.inversion import WORKLOAD
from workshop.workloads.inversion.victim import protected, signal_to_noise

UPDATES = [np.random.RandomState(one).standard_normal(3000).astype(np.float32) for one in range(4)]


def sent(rank=0, updates=UPDATES, **values):
    return protected(WORKLOAD.check(values), updates, rank)


def test_without_protection_it_is_sent_as_it_is():
    for protect in ("none", "epochs"):
        assert sent(protect=protect).update.tolist() == UPDATES[0].tolist()
        assert sent(protect=protect).signal_to_noise is None


def test_of_a_sum_only_the_mean_is_seen():
    found = sent(protect="sum", institutions=4)
    np.testing.assert_allclose(found.update, np.mean(UPDATES, axis=0), atol=1e-6)
    assert found.signal_to_noise is None


def test_clipping_alone_keeps_the_direction():
    found = sent(protect="clip-noise", clip=0.5, noise=0).update
    assert np.linalg.norm(found) == pytest.approx(0.5, rel=1e-5)
    np.testing.assert_allclose(found / np.linalg.norm(found), UPDATES[0] / np.linalg.norm(UPDATES[0]), atol=1e-6)
    assert sent(protect="clip-noise", clip=1e6, noise=0).update.tolist() == UPDATES[0].tolist()


def test_noise_is_as_large_as_was_asked_for_and_each_ranks_own():
    found = sent(protect="clip-noise", clip=0.5, noise=0.1)
    clipped = sent(protect="clip-noise", clip=0.5, noise=0).update
    assert np.std(found.update - clipped) == pytest.approx(0.05, rel=0.05)
    assert found.signal_to_noise == pytest.approx(20 * np.log10(0.5 / (0.05 * np.sqrt(3000))), abs=0.5)
    assert not np.array_equal(found.update, sent(rank=1, protect="clip-noise", clip=0.5, noise=0.1).update)
    again = sent(protect="clip-noise", clip=0.5, noise=0.1)
    assert np.array_equal(found.update, again.update), "the same seed, the same noise"


def test_of_the_largest_values_the_others_are_nothing():
    found = sent(protect="topk", keep=0.1)
    kept = found.update != 0
    assert kept.sum() == 300
    assert found.update[kept].tolist() == UPDATES[0][kept].tolist()
    assert np.abs(UPDATES[0][kept]).min() >= np.abs(UPDATES[0][~kept]).max()
    assert 0 < found.signal_to_noise < sent(protect="topk", keep=0.5).signal_to_noise


def test_eight_bits_tell_nearly_all():
    found = sent(protect="8bit")
    assert np.abs(found.update - UPDATES[0]).max() <= np.abs(UPDATES[0]).max() / 127
    assert 30 < found.signal_to_noise < 60


@given(st.floats(1e-3, 1e3))
def test_signal_to_noise_is_a_ratio_of_lengths(ratio):
    update = np.array([3.0, 4.0], np.float32)
    error = np.array([5.0 / ratio, 0.0], np.float32)
    assert signal_to_noise(update, update + error) == pytest.approx(20 * np.log10(ratio), abs=0.02)
    assert signal_to_noise(update, update) is None
    assert signal_to_noise(np.zeros_like(update), error) is None
