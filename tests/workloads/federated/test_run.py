"""The workload in a world of one."""

from __future__ import annotations

import pytest
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.federated import WORKLOAD

ROUNDS = 8


@pytest.fixture(scope="module")
def finished():
    """All three ways where each institution has three of the digits."""
    sink = Memory()
    params = WORKLOAD.check(
        {"data": "digits", "way": "all", "model": "dense", "partition": "label", "rounds": ROUNDS, "epochs": 2}
    )
    inputs = WORKLOAD.inputs(params, no_artifacts)
    WORKLOAD.fits(params, inputs, 1)
    return WORKLOAD.load()(RankContext(MPI.COMM_SELF, sink, inputs), params), sink


def test_federated_comes_close_to_pooled_images_and_far_above_each_alone(finished):
    by_way = finished[0]["by_way"]
    federated, pooled, alone = (by_way[way]["held_out_score"] for way in ("federated", "centralised", "alone"))
    assert pooled > 0.9
    assert federated > pooled - 0.15
    assert federated > alone + 0.3
    assert alone < 0.5, "nobody alone has seen more than three or four of the digits"


def test_institutions_are_described_before_the_first_round_and_at_the_end(finished):
    metrics, sink = finished
    known, ended = sink.metrics["institutions"], metrics["institutions"]
    assert [sum(count > 0 for count in one["labels"]) for one in known] == [3] * 4
    for before, after in zip(known, ended, strict=True):
        assert sum(before["labels"]) == before["images"] + before["validation"]
        assert {name: after[name] for name in before} == before
        assert after["took_part"] == ROUNDS
        assert after["held_out_alone"] <= 0.5
    assert sum(one["images"] + one["validation"] for one in known) == 1437
    assert metrics["train_images"] == sum(one["images"] for one in known)


def test_the_last_round_told_is_what_metrics_say(finished):
    metrics, sink = finished
    events = [(name, value) for _, name, step, value in sink.events if step == ROUNDS]
    assert dict(events)["held-out accuracy"] == metrics["held_out_accuracy"]
    assert dict(events)["alone own accuracy"] == metrics["by_way"]["alone"]["own_score"]
    assert dict(events)["institution 3 global accuracy"] == metrics["institutions"][2]["own_score"]["federated"]
    assert sink.done == (ROUNDS, ROUNDS)
    assert metrics["images_read"] == 3 * ROUNDS * 2 * metrics["train_images"]
    assert metrics["drift"] > 0
