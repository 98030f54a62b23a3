"""Codecs of updates: how far they may be off, and that nothing is lost for good."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.communication.compression import (
    BLOCK,
    LEVELS,
    EightBit,
    Feedback,
    TopK,
    Uncompressed,
    codec,
)

SMALLEST = 1e-30  # of numbers that are not 0: a scale has to be a normal number in float32
VALUES = st.floats(-1e6, 1e6, width=32).filter(lambda value: value == 0 or abs(value) > SMALLEST)
UPDATES = st.integers(1, 3 * BLOCK).flatmap(lambda length: arrays(np.float32, length, elements=VALUES))
SEEDS = st.integers(0, 2**31 - 1)


def chance(seed=0):
    return np.random.RandomState([seed])


def size(sent):
    return sum(array.nbytes for array in sent.values())


def declared(one, sent, parameters):
    return [kind.check(sent[kind.name], parameters) is not None for kind in one.kinds] and len(sent) == len(one.kinds)


@settings(max_examples=60, deadline=None)
@given(UPDATES, SEEDS)
def test_a_value_in_eight_bits_is_off_by_less_than_a_level(update, seed):
    one = EightBit(len(update))
    sent = one.encode(update, chance(seed))
    assert declared(one, sent, len(update))
    found = one.decode(sent)
    for at in range(0, len(update), BLOCK):
        block = update[at : at + BLOCK].astype(np.float64)
        level = np.abs(block).max() / LEVELS
        assert np.abs(found[at : at + BLOCK] - block).max() <= level * (1 + 1e-5)
        assert found[at + np.abs(block).argmax()] == pytest.approx(block[np.abs(block).argmax()], rel=1e-6)


def test_eight_bits_are_right_on_average():
    """The mean of many roundings, within five standard errors: one rounding's is half a level at most."""
    update = np.random.RandomState(1).randn(300).astype(np.float32)
    one, many = EightBit(len(update)), 4000
    mean = np.mean([one.decode(one.encode(update, chance(seed))) for seed in range(many)], axis=0, dtype=np.float64)
    level = np.abs(update).max() / LEVELS
    assert np.abs(mean - update).max() < 5 * 0.5 * level / math.sqrt(many)
    once = one.decode(one.encode(update, chance()))
    assert np.abs(once - update).max() > 0.5 * level, "the nearest level would be biased"


@pytest.mark.parametrize("value", [2.5, -2.5])
def test_the_largest_value_stays_what_it_is_at_any_chance(value):
    """127 and a chance just below 1 add up to 128 in float64, for which eight bits have no room."""
    one = EightBit(3)
    for chance_of_all in (0.0, np.nextafter(1.0, 0.0)):
        drawn = SimpleNamespace(random_sample=lambda count, same=chance_of_all: np.full(count, same))
        found = one.decode(one.encode(np.array([value, 0, value], np.float32), drawn))
        assert found.tolist() == [value, 0, value]


def test_eight_bits_take_a_quarter_of_the_bytes():
    update = np.ones(100_000, np.float32)
    sent = EightBit(100_000).encode(update, chance())
    assert size(sent) == 100_000 + 4 * math.ceil(100_000 / BLOCK)


def test_the_same_seed_rounds_alike():
    update = np.random.RandomState(2).randn(999).astype(np.float32)
    one, other, third = (EightBit(999).encode(update, chance(seed))["codes"].tobytes() for seed in (4, 4, 5))
    assert one == other != third


@settings(max_examples=60, deadline=None)
@given(UPDATES, st.floats(0.001, 1.0))
def test_the_largest_values_are_sent_as_they_are(update, keep):
    one = TopK(len(update), keep)
    sent = one.encode(update, chance())
    assert declared(one, sent, len(update))
    assert size(sent) == 8 * one.count
    found = one.decode(sent)
    kept = sent["places"].astype(int)
    assert one.count == max(math.floor(keep * len(update) + 0.5), 1) == len(set(kept))
    assert found[kept].tobytes() == update[kept].tobytes()
    left = np.delete(update, kept)
    assert not np.delete(found, kept).any()
    assert np.abs(left).max(initial=0) <= np.abs(update[kept]).min()
    # What Stich et al. ask of a compressor: |u - C(u)|^2 <= (1 - k / d) |u|^2.
    whole = float(np.square(update, dtype=np.float64).sum())
    assert np.square(left, dtype=np.float64).sum() <= (1 - one.count / len(update)) * whole * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 200), st.floats(0.01, 0.5), st.integers(1, 12), SEEDS)
def test_what_was_sent_and_what_is_left_add_up_to_all_updates(length, keep, rounds, seed):
    stream, one = np.random.RandomState([seed]), TopK(length, keep)
    memory, total, came = Feedback(one), np.zeros(length), np.zeros(length)
    for _ in range(rounds):
        update = stream.randn(length).astype(np.float32)
        total += update
        came += one.decode(memory.encode(3, update, stream))
    np.testing.assert_allclose(came + memory.remainders[3], total, rtol=0, atol=1e-5)


def test_with_what_was_left_every_value_is_sent_some_time():
    """A value that is never among the largest of one update is lost without error feedback."""
    update, one = np.array([1.0, 0.25, -0.25, 0.25], np.float32), TopK(4, 0.25)
    memory = Feedback(one)
    came = sum(one.decode(memory.encode(0, update, chance())) for _ in range(70))
    np.testing.assert_allclose(came / 70, update, atol=0.05)
    without = sum(one.decode(one.encode(update, chance())) for _ in range(70))
    assert without.tolist() == [70, 0, 0, 0]


def test_institutions_have_memories_of_their_own():
    memory = Feedback(TopK(2, 0.5))
    memory.encode(0, np.array([3, 1], np.float32), chance())
    memory.encode(1, np.array([5, 7], np.float32), chance())
    assert {one: left.tolist() for one, left in memory.remainders.items()} == {0: [0, 1], 1: [5, 0]}


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("one", [Uncompressed(), TopK(600, 0.01), EightBit(600)])
def test_what_is_no_number_stays_none_and_is_forgotten(one, wrong):
    update = np.ones(600, np.float32)
    update[413] = wrong
    memory = Feedback(one)
    assert not np.isfinite(one.decode(memory.encode(0, update, chance()))).all()
    following = one.decode(memory.encode(0, np.ones(600, np.float32), chance()))
    assert np.isfinite(following).all()


@pytest.mark.parametrize("places", [[1, 1], [2, 1], [0, 4]])
def test_places_that_nobody_encodes_make_no_update(places):
    one = TopK(4, 0.5)
    sent = {"values": np.ones(2, np.float32), "places": np.array(places, np.uint32)}
    assert np.isnan(one.decode(sent)).all()


def test_params_choose_the_codec():
    kinds = {
        name: [kind.name for kind in codec(WORKLOAD.check({"compression": name, "keep": 0.5}), 10).kinds]
        for name in ("none", "topk", "8bit")
    }
    assert kinds == {"none": ["update"], "topk": ["values", "places"], "8bit": ["codes", "scales"]}
