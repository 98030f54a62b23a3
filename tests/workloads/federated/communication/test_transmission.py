"""Every way to send updates on one and two real ranks: against arithmetic by hand, and in whole federations."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from mpi4py import MPI

from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from tests.workloads.federated.sending_program import (
    BESIDE,
    CHOSEN,
    COUNTS,
    INSTITUTIONS,
    PARAMETERS,
    RUNS,
    WAYS,
    sender,
    update,
)
from workshop.workloads.federated.communication import transmission
from workshop.workloads.federated.mathematics import aggregation
from workshop.workloads.federated.mathematics.secure_sum import encode

pytestmark = pytest.mark.real

RANKS = (1, 2)
PLAIN = 4 * PARAMETERS + 8  # bytes of an update and its weight
SENT = sum(map(len, CHOSEN.values()))  # updates, where nobody is silent
HIDDEN = [name for name in WAYS if "masks" in name]


def at(ranks):
    return run_ranks("tests.workloads.federated.sending_program", ranks)


@pytest.fixture(scope="module", params=by_ranks(*RANKS))
@starts_processes
def found(request):
    return at(request.param) | {"ranks": request.param}


def vector(text):
    return None if text is None else np.frombuffer(base64.b64decode(text))


def mean(number, senders, counts=COUNTS):
    total = sum(counts[one] * update(number, one).astype(np.float64) for one in senders)
    return total / sum(counts[one] for one in senders)


@pytest.mark.parametrize("name", ["plain", "silent", *HIDDEN])
def test_what_the_aggregator_gets_is_the_mean_of_those_who_sent(found, name):
    for (number, chosen), came in zip(CHOSEN.items(), found["ways"][name]["rounds"], strict=True):
        senders = [one for one in chosen if one not in came["silent"]]
        np.testing.assert_allclose(vector(came["update"]), mean(number, senders), rtol=0, atol=1e-9)
        assert (came["drift"] is None) == (name in HIDDEN), "who sees only the sum doesn't know how far they differ"


@pytest.mark.parametrize("name", HIDDEN)
def test_masked_sums_are_exact(found, name):
    """The same bits as the sum of the words that were never masked."""
    for (number, chosen), came in zip(CHOSEN.items(), found["ways"][name]["rounds"], strict=True):
        senders = [one for one in chosen if one not in came["silent"]]
        words = sum((encode(update(number, one), COUNTS[one]) for one in senders), np.zeros(PARAMETERS + 2, np.uint64))
        exact = words.view(np.int64)[:-2] / (2.0**30 * sum(COUNTS[one] for one in senders))
        assert vector(came["update"]).tobytes() == exact.tobytes()


def test_the_silent_ones_are_drawn_anew_in_each_round_from_those_who_learn(found):
    silent = [came["silent"] for came in found["ways"]["silent"]["rounds"]]
    assert all(
        len(some) == 1 and set(some) <= set(chosen) for some, chosen in zip(silent, CHOSEN.values(), strict=True)
    )
    assert len({some[0] for some in silent}) > 1
    assert silent == [came["silent"] for came in found["ways"]["masks silent"]["rounds"]]
    rounds = [sum(one in some for some in silent) for one in range(INSTITUTIONS)]
    assert found["ways"]["masks silent"]["told"]["silent"] == rounds
    assert [len(came["silent"]) for came in found["ways"]["topk silent"]["rounds"]] == [2] * 3


def test_of_who_is_silent_each_other_one_reveals_one_seed_of_the_round(found):
    told = found["ways"]["masks silent"]["told"]
    assert told["updates"] == told["seeds"] == SENT - 3
    (seeds,) = [one for one in told["up"] if one["kind"] == "pair seed"]
    assert seeds["bytes"] == 32 * told["seeds"]
    assert found["ways"]["masks"]["told"]["seeds"] == 0


def test_compressed_updates_are_what_codecs_make_of_them(found):
    """Top-k: every value that comes is one that was sent or kept back; eight bits: off by less than a level."""
    (first, *_) = found["ways"]["topk"]["rounds"]
    largest = {one: np.sort(np.abs(update(1, one)))[-PARAMETERS // 10] for one in CHOSEN[1]}
    sparse = [np.where(np.abs(update(1, one)) >= largest[one], update(1, one), 0) for one in CHOSEN[1]]
    by_hand = np.average(np.array(sparse, np.float64), axis=0, weights=[COUNTS[one] for one in CHOSEN[1]])
    np.testing.assert_allclose(vector(first["update"]), by_hand, rtol=0, atol=1e-9)
    for (number, chosen), came in zip(CHOSEN.items(), found["ways"]["8bit"]["rounds"], strict=True):
        off = np.abs(vector(came["update"]) - mean(number, chosen)).max()
        assert 0 < off < max(np.abs(update(number, one)).max() for one in chosen) / 127


@pytest.mark.parametrize("name", ["topk", "topk silent"])
def test_what_top_k_keeps_back_is_added_to_the_next_update(found, name):
    """Institution 5 learns in all rounds; by hand what it sends, with its memory, and the same of the others. Whoever
    doesn't learn in a round, or falls silent, goes on with what it had kept back before."""
    left = {}
    for (number, chosen), came in zip(CHOSEN.items(), found["ways"][name]["rounds"], strict=True):
        total, senders = np.zeros(PARAMETERS), [one for one in chosen if one not in came["silent"]]
        for one in senders:
            whole = update(number, one) + left.get(one, np.zeros(PARAMETERS, np.float32))
            kept = np.argsort(-np.abs(whole))[: PARAMETERS // 10]
            sent = np.zeros(PARAMETERS, np.float32)
            sent[kept] = whole[kept]
            left[one] = whole - sent
            total += COUNTS[one] * sent.astype(np.float64)
        np.testing.assert_allclose(vector(came["update"]), total / sum(COUNTS[one] for one in senders), atol=1e-9)


def test_bytes_are_those_of_what_is_really_sent(found):
    ways = {name: one["told"] for name, one in found["ways"].items()}
    each = {
        "plain": PLAIN,
        "topk": 8 * PARAMETERS // 10 + 8,
        "8bit": PARAMETERS + 4 * math.ceil(PARAMETERS / 256) + 8,
        "masks": 8 * (PARAMETERS + 2) + 1,
    }
    for name, size in each.items():
        keys = 256 * INSTITUTIONS if name == "masks" else 0
        assert ways[name]["bytes_updates"] == SENT * size + keys == found["ways"][name]["bytes"][0]
        assert ways[name]["bytes_plain"] == SENT * PLAIN
        assert sum(one["bytes"] for one in ways[name]["up"]) == ways[name]["bytes_updates"]
    assert found["ways"]["plain"]["bytes"][1] == 0
    down = 256 * INSTITUTIONS * INSTITUTIONS + INSTITUTIONS * SENT  # all keys to everybody; and who is missing
    assert found["ways"]["masks"]["bytes"][1] == down


@pytest.mark.parametrize("name", [name for name in WAYS if "unequal" not in name])
def test_it_does_not_matter_who_lives_where(name):
    one, other = (at(ranks)["ways"][name] for ranks in RANKS)
    assert one["rounds"] == other["rounds"]
    assert one["bytes"] == other["bytes"]
    assert one["told"]["up"] == other["told"]["up"]


@pytest.mark.parametrize("name", ["unequal", "unequal silent"])
def test_masks_that_are_weighted_afterwards_do_not_cancel(found, name):
    told = found["ways"][name]["told"]
    assert told["uncancelled"] == 3
    for came in found["ways"][name]["rounds"]:
        assert np.abs(vector(came["update"])).max() > 1e5
    assert max(told["seen"]["sum"]) < 0.12, "the sum is noise, too"


def test_with_equal_weights_the_wrong_way_goes_well(found):
    assert found["equal"]["told"]["uncancelled"] == 0
    for (number, chosen), came in zip(CHOSEN.items(), found["equal"]["rounds"], strict=True):
        np.testing.assert_allclose(vector(came["update"]), mean(number, chosen, [30] * INSTITUTIONS), atol=1e-8)


def test_what_is_seen_of_a_masked_message_is_noise_and_of_the_sum_is_not(found):
    seen = found["ways"]["masks"]["told"]["seen"]
    assert max(seen["message"]) < 0.12  # 1/16 and a share of 700 words that are drawn
    assert seen["sum"][7] + seen["sum"][8] == pytest.approx(1)
    assert seen["round"] == 1
    assert seen["updates"] == 6
    assert found["ways"]["plain"]["told"]["seen"] is None


def test_what_can_not_be_masked_is_named_and_left_out(found):
    rounds, told = found["left out"]["rounds"], found["left out"]["told"]
    assert [came["dropped"] for came in rounds] == [[2], [0, 3], [0, 1, 2, 3, 4]]
    np.testing.assert_allclose(vector(rounds[0]["update"]), mean(1, [0, 1, 3, 4, 5]), atol=1e-9)
    np.testing.assert_allclose(vector(rounds[1]["update"]), mean(2, [1, 2, 4, 5]), atol=1e-9)
    assert told["too_large"] == [0, 0, 0, 1, 0, 0]
    assert rounds[2]["update"] is None, "the sum of one is somebody's own"
    assert told["too_few"] == 1
    assert told["seeds"] == 5 + 2 * 4


def test_a_mask_that_does_not_cancel_ends_the_run_in_one_sentence(found):
    """With keys of the test's own, so that the round before goes well for sure."""
    np.testing.assert_allclose(vector(found["tampered"]["good"]), mean(1, CHOSEN[1]), atol=1e-9)
    assert found["tampered"]["error"].startswith(
        "The masks of round 2 don't cancel, so the sum of its updates is noise"
    )
    assert "\n" not in found["tampered"]["error"]


@pytest.mark.parametrize("name", RUNS)
def test_nothing_but_declared_messages_is_ever_sent(found, name):
    told = found["runs"][name]
    assert set().union(*told["calls"]) <= {"Bcast", "Send", "Recv", "Barrier", "allreduce"}
    small = max(size for size in told["declared"] if size < 300)
    for sizes in told["sizes"]:
        assert {size for size in sizes if size > small} <= set(told["declared"])
    if found["ranks"] == 2:
        assert all(arrays == moved > 0 for arrays, moved in told["moved"])
        # Plain updates can be read, and this finds them: the same search finds nothing of masked or compressed ones.
        assert (told["leaks"][1] > 0) == (name in ("plain", BESIDE))
    assert told["leaks"][0] == 0, "the aggregator's rank hands on models only"


def test_masks_change_nothing_of_what_is_learned(found):
    """The same weights but for the rounding to multiples of 2^-30 over the images of all."""
    runs = found["runs"]
    np.testing.assert_allclose(vector(runs["masks"]["end"]), vector(runs["plain"]["end"]), rtol=0, atol=1e-6)
    assert runs["masks"]["metrics"]["held_out_accuracy"] == pytest.approx(
        runs["plain"]["metrics"]["held_out_accuracy"], abs=0.011
    )


def test_compressed_updates_teach_as_well_with_fewer_bytes(found):
    runs = found["runs"]
    reached = {name: runs[name]["metrics"]["held_out_accuracy"] for name in RUNS}
    shares = {name: runs[name]["told"]["bytes_updates"] / runs[name]["told"]["bytes_plain"] for name in RUNS}
    assert reached["plain"] > 0.7
    assert reached["8bit"] > reached["plain"] - 0.05
    assert reached["topk"] > reached["plain"] - 0.15
    assert shares["plain"] == 1
    assert shares["topk"] == pytest.approx(0.2, abs=0.001)
    assert shares["8bit"] == pytest.approx(0.254, abs=0.001)


def test_beside_compressed_updates_the_same_is_learned_with_plain_ones(found):
    ways = found["runs"][BESIDE]["metrics"]["by_way"]
    assert list(ways) == ["federated", "whole"]
    assert ways["whole"]["held_out"] == found["runs"]["plain"]["metrics"]["by_way"]["federated"]["held_out"]
    assert ways["federated"]["held_out"] != ways["whole"]["held_out"]


def test_the_wrong_way_destroys_the_model(found):
    told = found["runs"]["unequal"]
    assert told["told"]["uncancelled"] >= 1
    assert told["metrics"]["held_out_accuracy"] < 0.35
    assert found["runs"]["masks"]["metrics"]["held_out_accuracy"] > 0.7


def test_what_was_sent_is_among_the_metrics(found):
    for told in found["runs"].values():
        assert told["metrics"]["sending"] == told["told"]
        assert sum(one["bytes"] for one in told["told"]["up"]) == told["metrics"]["bytes_up"]
        assert "time.encode" in told["phases"]
        assert 1 <= told["known"]["rounds"] <= 3, "it can be looked at while the run goes on"


def test_updates_that_are_too_many_to_keep_are_added_up_as_they_come(monkeypatch):
    """With the same result, in a world of one; how far they are from each other is then told for all together only."""
    kept, _, _ = sender(MPI.COMM_SELF, {"compression": "8bit", "silent": 1})
    before = kept(1, CHOSEN[1])
    monkeypatch.setattr(transmission, "MEMORY_LIMIT", 0)
    monkeypatch.setattr(aggregation, "MEMORY_LIMIT", 0)
    passing, way, _ = sender(MPI.COMM_SELF, {"compression": "8bit", "silent": 1})
    after = passing(1, CHOSEN[1])
    assert after.update.tobytes() == before.update.tobytes()
    assert (after.silent, after.drift.relative) == (before.silent, before.drift.relative)
    assert len(before.drift.distances) == 5
    assert not after.drift.distances
    assert {"encode", "gather", "aggregate"} <= way.ctx.phase_seconds.keys()
