"""Every exchange on one to four real ranks against single-process training in NumPy on the union of the batches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.training.oracle import train
from tests.engine.training.ranks_program import BATCH, EPOCHS, count
from tests.ranks import by_ranks, run_ranks
from tests.support import need, starts_processes
from workshop.engine.training.batches import Batches
from workshop.mpi import horovod

pytestmark = pytest.mark.real

AGREE = {"SGD": 2e-6, "Adam": 2e-4}  # absolute, in float32: Adam divides by gradients' sizes, also by tiny ones
WAYS = ("horovod", "mpi", "mpi-overlap", "mpi-per-tensor", "hierarchical", "parameter-server")
FITTED = ("horovod", "mpi", "mpi-overlap", "parameter-server")
CASES = [(way, "SGD") for way in WAYS] + [(way, "Adam") for way in FITTED]
SHORTER = {"float16": 1 / 2, "bfloat16": 1 / 2, "8bit": 0.3, "topk": 1 / 2}  # of the bytes; a quarter, with positions


@pytest.fixture(scope="module", params=by_ranks(1, 2, 3, 4))
@starts_processes
def found(request):
    need(horovod.built(), "Horovod is not built here")
    return run_ranks("tests.engine.training.ranks_program", request.param)


@pytest.mark.parametrize(("way", "kind"), CASES)
def test_ranks_together_reach_the_weights_of_one_process_on_the_union_of_their_batches(found, way, kind):
    told = found["trained"][f"{way} {kind}"]
    weights, losses = train(told["start"], found["ranks"], kind)
    assert told["used"] == way
    for mine, other in zip(told["weights"], weights, strict=True):
        np.testing.assert_allclose(np.array(mine), other, rtol=0, atol=AGREE[kind])
    np.testing.assert_allclose(told["losses"], losses, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("way", "kind"), CASES)
def test_all_ranks_hold_the_same_bits(found, way, kind):
    told = found["trained"][f"{way} {kind}"]
    assert len(told["digests"]) == found["ranks"]
    assert len(set(told["digests"])) == 1
    assert told["spread"] == 0
    assert (told["spread_before"] > 0.1) == (found["ranks"] > 1)  # each drew weights of its own


def test_without_an_exchange_ranks_drift_apart(found):
    told = found["trained"]["none SGD"]
    assert len(set(told["digests"])) == found["ranks"]
    assert (told["spread"] > 1e-3) == (found["ranks"] > 1)


def test_every_rank_takes_the_same_number_of_steps(found):
    expected = EPOCHS * Batches(count(found["ranks"]), found["ranks"], BATCH, 0).steps
    for told in found["trained"].values():
        assert told["steps"] == [expected] * found["ranks"]
        assert told["totals"]["steps"] == expected - 2
        assert sum(told["totals"]["last"]) == expected - 2


def test_an_exchange_counts_what_it_hands_over(found):
    several = found["ranks"] > 1
    size = 4 * sum(np.size(weight) for weight in found["trained"]["mpi SGD"]["weights"])
    told = {way: (found["trained"][f"{way} SGD"]["messages"], found["trained"][f"{way} SGD"]["bytes"]) for way in WAYS}
    assert told["horovod"] == ((1, size) if several else (0, 0))
    assert told["mpi"] == ((1, size) if several else (0, 0))
    assert told["mpi-per-tensor"] == ((4, size) if several else (0, 0))
    peers = found["ranks"] - 1
    assert told["mpi-overlap"] == ((3, size) if several else (0, 0))
    assert told["hierarchical"] == ((1, size) if several else (0, 0)), "to the ranks of this host"
    assert told["parameter-server"] == (peers * 4, peers * size)  # rank 0's


def test_parts_of_a_batch_add_up_to_the_batch(found):
    parts, whole = found["trained"]["in parts"], found["trained"]["mpi SGD"]
    for weight, expected in zip(parts["weights"], whole["weights"], strict=True):
        np.testing.assert_allclose(weight, expected, atol=2e-6)
    np.testing.assert_allclose(parts["losses"], whole["losses"], rtol=1e-4)


@pytest.mark.parametrize("name", SHORTER)
def test_compressed_gradients_take_fewer_bytes_and_train_nearly_as_well(found, name):
    short, whole = found["trained"][f"compressed to {name}"], found["trained"]["mpi SGD"]
    assert len(set(short["digests"])) == 1
    assert short["bytes"] <= SHORTER[name] * whole["bytes"] + 8
    assert short["bytes"] > 0 or found["ranks"] == 1
    last = slice(-len(whole["losses"]) // 4, None)
    np.testing.assert_allclose(np.mean(short["losses"][last]), np.mean(whole["losses"][last]), rtol=0.1)
    assert (short["losses"] != whole["losses"]) == (found["ranks"] > 1)


def test_buckets_leave_one_after_the_other(found):
    several, overlapped = found["ranks"] > 1, found["trained"]["mpi-overlap SGD"]
    assert overlapped["transfers"] == (3 * overlapped["steps"][0] if several else 0)
    short = found["trained"]["overlap 8bit"]
    assert short["transfers"] == overlapped["transfers"]
    assert len(set(short["digests"])) == 1
    assert not several or short["bytes"] < 0.35 * overlapped["bytes"]


def test_a_bucket_arrives_before_the_other_gradients_are_computed(found):
    several = found["ranks"] > 1
    assert found["early"]["arrived"] == [1 if several else 0]
    assert found["early"]["means"] == [(found["ranks"] - 1) / 2] * 2


@pytest.mark.parametrize("way", FITTED)
def test_a_distributed_optimizer_works_in_fit(found, way):
    told = found["fitted"][way]
    assert len(set(told["digests"])) == 1
    for mine, other in zip(told["weights"], found["fitted"]["mpi"]["weights"], strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)


def test_rank_0_tells_of_all_and_every_rank_of_itself(found):
    for rank, names in enumerate(found["trained"]["mpi SGD"]["names"]):
        assert {"images/s", "time.input", "time.compute", "time.communicate", "time.wait"} <= set(names)
        assert ({"loss", "accuracy", "total images/s"} <= set(names)) == (rank == 0)
