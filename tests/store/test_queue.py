"""Turns and waiting times, as pure functions."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import run
from workshop.store.runs import expected_wait, turns

queues = st.lists(st.sampled_from("abcd"), max_size=12).map(lambda owners: list(enumerate(owners, 1)))
histories = st.dictionaries(st.sampled_from("abcd"), st.floats(1, 1000))


@given(queues, histories)
def test_everybody_gets_a_turn(queued: list[tuple[int, str]], last_taken: dict[Hashable, float]) -> None:
    order = turns(queued, last_taken)
    who = dict(queued)
    assert sorted(order) == sorted(who)
    places: dict[str, list[int]] = {}
    for place, run_id in enumerate(order):
        places.setdefault(who[run_id], []).append(place)
        assert [own for own in order if who[own] == who[run_id]] == sorted(
            own for own in who if who[own] == who[run_id]
        )
    for mine, own in places.items():
        for earlier, later in pairwise(own):
            between = [who[run_id] for run_id in order[earlier + 1 : later]]
            still_waiting = {other for other, all_of in places.items() if other != mine and all_of[-1] > earlier}
            assert set(between) == still_waiting and len(between) == len(still_waiting), "each once between two of mine"


@given(queues, histories)
def test_taking_the_first_changes_nothing_for_the_rest(
    queued: list[tuple[int, str]], last_taken: dict[Hashable, float]
) -> None:
    order = turns(queued, last_taken)
    now = 2000.0
    while order:
        first, *rest = order
        who = dict(queued)[first]
        queued = [pair for pair in queued if pair[0] != first]
        last_taken, now = {**last_taken, who: now}, now + 1
        assert turns(queued, last_taken) == rest
        order = rest


def ended(workload: str, *seconds: float) -> list:
    return [run(workload=workload, started_at=100.0, finished_at=100.0 + lasted) for lasted in seconds]


def waits(*workloads: str, running: str | None = None, since: float = 0.0, history: list) -> list[float | None]:
    queue = [run(id=number, workload=name, status="queued") for number, name in enumerate(workloads, 1)]
    first = run(id=99, workload=running, status="running", started_at=1000.0 - since) if running else None
    return list(expected_wait(queue, first, history, now=1000.0).values())


def test_waiting_is_the_median_of_what_comes_before() -> None:
    history = [*ended("kmeans", 2.0, 4.0, 60.0), *ended("mnist", 10.0)]
    assert waits("kmeans", "mnist", "kmeans", history=history) == [0.0, 4.0, 14.0]
    assert waits("kmeans", "kmeans", running="mnist", since=3.0, history=history) == [7.0, 11.0]
    assert waits("kmeans", running="mnist", since=30.0, history=history) == [None], "late, so nobody knows"
    assert waits("sgan", "kmeans", history=history) == [0.0, pytest.approx(7.0)], "an unknown one is like the others"
