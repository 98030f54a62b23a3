"""Who waited for whom, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, metrics, rank_map, trained
from workshop.report.training.facts import waiting
from workshop.store.records import RunRecord


def said(run: RunRecord) -> str | None:
    waits = waiting(run)
    return waits.sentence if waits else None


def waited(
    wait: Sequence[float],
    last: Sequence[int],
    late_by: Sequence[float],
    allowed: Sequence[Sequence[int]] = (),
    cores: int = 0,
    **told: Any,
) -> RunRecord:
    """A run of 100 steps in which each rank waited so many seconds; ranks have a core each unless told otherwise."""
    ranks = len(wait)
    phases = metrics(ranks)["phases"] | {"wait": list(wait)}
    changes = {"phases": phases, "last": list(last), "late_by": list(late_by)} | told
    placed = {"rank_map": rank_map(*(allowed or [[rank] for rank in range(ranks)])), "machine": machine(cores or ranks)}
    return replace(trained(ranks, changes), **placed)


# 1.27 s of 100 steps without waiting: 13 ms a step.
ALONE = ([0.8, 0.0], [2, 98], [0.0001, 0.0081])
SENTENCES: dict[str, tuple[RunRecord, str]] = {
    "nobody": (
        waited([0.01, 0.02], [60, 40], [0.0003, 0.0004]),
        "The ranks hardly waited for each other: 150 µs of a step of 12.8 ms.",
    ),
    "a rank that shares its core": (
        waited([2.0, 0.0, 2.01], [1, 98, 1], [0.0001, 0.02, 0.0001], [[0], [0], [1]], 2),
        "Ranks 0 and 2 waited 20 ms a step for rank 1, which shares core 0 with rank 0.",
    ),
    "a rank with more threads than cores": (
        replace(waited(*ALONE, [[0, 1], [2]], 3), placement={"ranks": 2, "threads": 2}),
        "Rank 0 waited 8 ms a step for rank 1, which runs 2 threads on core 2.",
    ),
    "a rank with fewer cores": (
        waited(*ALONE, [[0, 1], [2]], 3),
        "Rank 0 waited 8 ms a step for rank 1, which has 1 core where the others have 2.",
    ),
    "a rank that reads slowly": (
        waited(
            *ALONE,
            phases={"input": [0.02, 0.8], "compute": [1.1, 1.1], "communicate": [0.15, 0.15], "wait": [0.8, 0.0]},
        ),
        "Rank 0 waited 8 ms a step for rank 1, which takes 8 ms to read the input of a step where the others take "
        "200 µs.",
    ),
    "a parameter server": (
        waited([0.0, 0.8, 0.9], [99, 1, 0], [0.008, 0.0001, 0.0], exchange="parameter-server"),
        "Ranks 1 and 2 waited 8.5 ms a step for rank 0, which collects all gradients and sends the weights to "
        "everybody.",
    ),
    "nothing to be seen": (
        waited(*ALONE),
        "Rank 0 waited 8 ms a step for rank 1, last in 98 of 100 steps; nothing in where the ranks run explains it, "
        "so see what else works on core 1.",
    ),
    "in turns": (
        waited([0.4, 0.5], [52, 48], [0.008, 0.0085]),
        "The ranks took turns at being late: no rank came last in more than 52 of 100 steps, and on average a rank "
        "waited 4.5 ms of a step of 17.2 ms.",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_sentences(case: str) -> None:
    run, expected = SENTENCES[case]
    assert said(run) == expected


def test_a_rank_on_another_host_is_named_with_it() -> None:
    run = waited(*ALONE)
    reports = run.rank_map["ranks"] if run.rank_map else []
    there = {"ranks": [reports[0], {**reports[1], "host": "other"}]}
    assert said(replace(run, rank_map=there)) == (
        "Rank 0 waited 8 ms a step for rank 1, which is on another host, other."
    )


seconds = st.floats(0, 10)


@given(
    st.integers(2, 6).flatmap(
        lambda n: st.lists(st.tuples(seconds, st.integers(0, 100), seconds), min_size=n, max_size=n)
    )
)
def test_whoever_is_named_has_most_of_the_lateness_and_waits_less(told: list[tuple[float, int, float]]) -> None:
    wait, last, late_by = (list(column) for column in zip(*told, strict=True))
    found = waiting(waited(wait, last, late_by))
    assert found is not None and said(waited(wait, last, late_by))
    if found.late:
        costs = [count * by for count, by in zip(last, late_by, strict=True)]
        assert sum(costs[rank] for rank in found.late) >= 0.69 * sum(costs) > 0
        assert found.others
