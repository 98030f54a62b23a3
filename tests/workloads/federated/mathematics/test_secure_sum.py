"""Masks: that they hide everything, and that nothing of them is left in the sum."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import WorkshopError
from workshop.workloads.federated.mathematics.secure_sum import (
    EXPONENT,
    NO_NUMBER,
    PRIME,
    READY,
    TOO_LARGE,
    Member,
    decode,
    encode,
    histogram,
    mask,
    private_key,
    readiness,
    stream,
)

SMALL = 96  # bits of the keys of a test that asks for many


def members(many, seed=0):
    """Institutions that have met, with keys of a seed."""
    draws = np.random.RandomState([seed])
    found = [Member(one, int.from_bytes(draws.bytes(SMALL // 8), "big") + 2) for one in range(many)]
    for one in found:
        one.meet({other.number: other.public for other in found if other is not one})
    return found


def pi(bits):
    """pi times 2^bits, rounded down, by Machin's formula: 16 arctan(1/5) - 4 arctan(1/239)."""
    scale = 1 << (bits + 64)

    def arctan(inverse):
        power, total, odd, sign = scale // inverse, 0, 1, 1
        while power:
            total += sign * (power // odd)
            power, odd, sign = power // inverse**2, odd + 2, -sign
        return total

    return (16 * arctan(5) - 4 * arctan(239)) >> 64


def test_the_group_is_that_of_the_standard():
    """RFC 3526 gives its prime by a formula with pi."""
    assert 2**2048 - 2**1984 - 1 + 2**64 * (pi(1918) + 124476) == PRIME


def test_private_keys_are_fresh():
    keys = {private_key() for _ in range(20)}
    assert len(keys) == 20
    assert all(1 <= key <= 2**EXPONENT for key in keys)
    assert max(keys).bit_length() > EXPONENT - 16
    assert Member(0).public != Member(0).public


def test_two_institutions_have_one_seed_in_a_round_and_others_none_of_it():
    one, other, third = members(3)
    assert one.seed(1, 5) == other.seed(0, 5)
    seeds = {one.seed(1, 5), one.seed(1, 6), one.seed(2, 5), third.seed(1, 5)}
    assert len(seeds) == 4
    assert all(len(seed) == 32 for seed in seeds)


@pytest.mark.parametrize("key", [0, 1, PRIME - 1, PRIME])
def test_a_key_that_makes_no_secret_is_refused(key):
    with pytest.raises(
        WorkshopError, match="The public key of institution 2 that institution 1 got is not in the agreed group"
    ) as no:
        Member(0, 12345).meet({1: key.to_bytes(256, "big")})
    assert "\n" not in str(no.value)


def test_the_stream_is_the_same_everywhere():
    """The first words of SHAKE-256 of nothing (FIPS 202), byte by byte."""
    first = hashlib.shake_256(b"").digest(8)
    assert first.hex() == "46b9dd2b0ba88d13"
    assert int(stream(b"", 3)[0]) == int.from_bytes(first, "little")


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6).flatmap(lambda many: st.lists(st.integers(1, 60_000), min_size=many, max_size=many)),
    st.integers(0, 2**31 - 1),
)
def test_the_sum_of_masked_words_is_that_of_the_words_bit_for_bit(weights, seed):
    draws, those = np.random.RandomState([seed]), members(len(weights))
    updates = [(draws.randn(40) * 10.0 ** draws.randint(-6, 4)).astype(np.float32) for _ in weights]
    words = [encode(update, weight) for update, weight in zip(updates, weights, strict=True)]
    masked = [one.masked(own, 9, range(len(weights))) for one, own in zip(those, words, strict=True)]
    total, plain = np.zeros(42, np.uint64), np.zeros(42, np.uint64)
    for own, hidden in zip(words, masked, strict=True):
        total, plain = total + hidden, plain + own
    assert total.tobytes() == plain.tobytes()
    found = decode(total)
    assert found.cancelled
    assert found.weight == sum(weights)
    exact = [sum(round(float(u[at]) * w * 2**30) for u, w in zip(updates, weights, strict=True)) for at in range(40)]
    assert found.values.tolist() == exact
    mean = sum(w * u.astype(np.float64) for u, w in zip(updates, weights, strict=True)) / sum(weights)
    np.testing.assert_allclose(found.mean(), mean, rtol=1e-12, atol=2**-30 * len(weights))


def test_who_is_missing_is_taken_out_by_the_seeds_of_the_others():
    those, gone = members(5), {1, 3}
    words = [encode(np.full(10, one, np.float32), one + 1) for one in range(5)]
    there = [one for one in range(5) if one not in gone]
    total = sum((those[one].masked(words[one], 2, range(5)) for one in there), np.zeros(12, np.uint64))
    assert not decode(total).cancelled
    for one in there:
        for other in gone:
            total -= mask(one, other, those[one].seed(other, 2), 12)
    assert total.tobytes() == sum((words[one] for one in there), np.zeros(12, np.uint64)).tobytes()


def test_a_masked_message_alone_is_noise():
    """Every bit is 1 as often as 0, and bytes come equally often: chi-square of 255 degrees of freedom, whose mean is
    255 and whose standard deviation is 22.6. The update behind it is all zeros."""
    one, *_ = members(3)
    words = encode(np.zeros(100_000, np.float32), 500)
    hidden = one.masked(words, 1, range(3))
    counts = np.bincount(np.frombuffer(hidden.tobytes(), np.uint8), minlength=256)
    expected = 8 * len(hidden) / 256
    assert 255 - 6 * 22.6 < ((counts - expected) ** 2 / expected).sum() < 255 + 6 * 22.6
    bits = np.unpackbits(hidden.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 6 * 0.5 / np.sqrt(len(hidden))
    shown = histogram(hidden)
    assert len(shown) == 16
    assert sum(shown) == pytest.approx(1)
    assert max(shown) < 0.07
    assert min(shown) > 0.055
    again = one.masked(words, 2, range(3))
    assert np.count_nonzero(again == hidden) < 3, "each round has masks of its own"


def test_updates_lie_in_the_middle_of_what_words_can_be():
    shown = histogram(encode(np.array([-1.5, 0.5, 0.25, 1.0], np.float32), 100)[:-2])
    assert shown == [0.0] * 7 + [0.25, 0.75] + [0.0] * 7


@pytest.mark.parametrize("change", [1, 2**63, 12345])
@pytest.mark.parametrize("where", [0, 5, 10, 11])
def test_a_single_word_that_was_changed_is_noticed(where, change):
    total = sum(
        (one.masked(encode(np.full(10, 0.5, np.float32), 3), 1, range(3)) for one in members(3)),
        np.zeros(12, np.uint64),
    )
    assert decode(total).cancelled
    total[where] += np.uint64(change)
    assert not decode(total).cancelled


def test_what_has_no_words_is_known_before():
    update = np.ones(3, np.float32)
    assert readiness(update) == READY
    for value, known in ((np.nan, NO_NUMBER), (np.inf, NO_NUMBER), (2.0**15, TOO_LARGE), (-(2.0**15), TOO_LARGE)):
        update[1] = value
        assert readiness(update) == known
        with pytest.raises(ValueError, match="has no words"):
            encode(update, 1)
    for weight in (0, -1, 2**19):
        with pytest.raises(ValueError, match=f"weight {weight} "):
            encode(np.ones(3, np.float32), weight)


def test_the_largest_that_there_may_be_doesn_t_overflow():
    words = encode(np.array([2.0**14, -(2.0**14)], np.float32), 2**19 - 1)
    assert decode(words).mean().tolist() == [2.0**14, -(2.0**14)]
