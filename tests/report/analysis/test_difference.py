"""What went elsewhere than predicted is said rank by rank, and of many ranks together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, rank_map
from workshop.report.analysis.difference import FEW_RANKS, aligned, difference, sentences

Allowed = Sequence[Sequence[int]]
HYPER = machine(4, packages=2, hardware_threads=2)  # core 0 has units 0 and 4


def predicted(*allowed: Sequence[int], host: str = "laptop") -> dict[str, Any]:
    """As the mapper tells it: no process, no threads."""
    kept = ("rank", "host", "local_rank", "units", "cores", "packages", "numa")
    ranks = [{name: report[name] for name in kept} for report in rank_map(*allowed, host=host)["ranks"]]
    return {"measured": False, "ranks": ranks}


@pytest.mark.parametrize(
    ("meant", "ran", "kind", "words"),
    [
        ([[0], [1]], [[0], [0]], "place", "rank 1 was meant for core 1, could run on core 0 together with rank 0"),
        ([[0], [1]], [[0], [2]], "place", "rank 1 was meant for core 1, could run on core 2"),
        ([[0], [1]], [[0], [0, 1, 2, 3]], "place", "rank 1 was meant for core 1, could run on all 4 cores"),
        ([[0], [0, 1, 2, 3]], [[0], [1]], "place", "rank 1 was meant for all 4 cores, could run on core 1"),
        ([[0], [1]], [[0], [1, 2]], "place", "rank 1 was meant for core 1, could run on cores 1 and 2"),
        ([[0], [1, 2]], [[0], [2]], "place", "rank 1 was meant for cores 1 and 2, could run on core 2"),
        ([[0], [1]], [[0]], "ranks", "rank 1 was meant for core 1, but didn't run"),
        ([[0]], [[0], [1]], "ranks", "rank 1 wasn't meant to be, but could run on core 1"),
    ],
)
def test_each_kind_of_difference_has_its_words(meant: Allowed, ran: Allowed, kind: str, words: str) -> None:
    found = difference(predicted(*meant), rank_map(*ran), machine(4))
    assert [(one.rank, one.kind) for one in found if one.rank == 1] == [(1, kind)]
    assert next(one.words for one in found if one.rank == 1) == words
    assert f"R{words[1:]}." in sentences(found)


def test_hardware_threads_are_told_from_cores() -> None:
    found = difference(predicted([0, 4], [1, 5]), rank_map([0, 4], [1]), HYPER)
    assert [one.words for one in found] == [
        "rank 1 was meant for hardware threads 1 and 5, could run on hardware thread 1"
    ]


def test_hosts_are_named_where_there_are_several() -> None:
    one, other = rank_map([0], [1], host="a")["ranks"], rank_map([0], [1], host="b")["ranks"]
    both = {**machine(2, host="a"), "more": [machine(2, host="b")]}
    meant = {"ranks": [one[0], {**other[0], "rank": 1}]}
    ran = {"measured": True, "ranks": [one[0], one[1]]}
    (found,) = difference(meant, ran, both)
    assert (found.kind, found.words) == ("place", "rank 1 was meant for core 0 of b, could run on core 1 of a")
    ran = {"measured": True, "ranks": [one[0], {**other[1], "rank": 1}]}
    assert (
        " ".join(sentences(difference(meant, ran, both)))
        == "Rank 1 was meant for core 0 of b, could run on core 1 of b."
    )


@pytest.mark.parametrize(
    ("names", "same"),
    [
        (("node1", "node2"), True),  # which call themselves node1.site and node2.site
        (("10.0.0.1", "10.0.0.2"), True),
        (("node2", "node1"), False),
        (("node1.site", "node3"), False),
    ],
)
def test_hosts_may_call_themselves_by_more_than_the_placement_does(names: tuple[str, str], same: bool) -> None:
    def on(one: str, other: str) -> dict[str, Any]:
        ranks = [predicted([0], host=host)["ranks"][0] | {"rank": rank} for rank, host in enumerate((one, other))]
        return {"measured": False, "ranks": ranks}

    ran = on("node1.site", "node2.site")
    both = {**machine(2, host="node1.site"), "more": [machine(2, host="node2.site")]}
    assert (difference(on(*names), ran, both) == []) is same
    assert (
        [rank["host"] for rank in (aligned(on(*names), ran) or {})["ranks"]] == ["node1.site", "node2.site"]
    ) is same


def test_threads_outside_of_their_rank_s_units_are_told() -> None:
    found = difference(predicted([0], [1]), rank_map([0], [1], seen=[[0], [0, 1]]), machine(2))
    assert [(one.rank, one.kind, one.words) for one in found] == [
        (1, "threads", "1 thread of rank 1 was seen on core 0, outside of core 1")
    ]


def test_many_ranks_are_told_together() -> None:
    found = difference(
        predicted(*([rank] for rank in range(64))), rank_map(*([(rank + 1) % 64] for rank in range(64))), machine(64)
    )
    assert len(found) == 64
    first, *_, last = sentences(found)
    assert first == "Rank 0 was meant for core 0, could run on core 1."
    assert last == f"So it is with {64 - FEW_RANKS} more ranks."
    missing = difference(predicted(*([rank] for rank in range(64))), rank_map([0]), machine(64))
    assert len(sentences(missing)) == FEW_RANKS + 1
    assert sentences(missing)[-1] == f"So it is with {63 - FEW_RANKS} more ranks."


units = st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(units, units), min_size=1, max_size=20))
def test_ranks_differ_exactly_where_their_units_do(pairs: list[tuple[list[int], list[int]]]) -> None:
    meant, ran = predicted(*(sorted(a) for a, _ in pairs)), rank_map(*(sorted(b) for _, b in pairs))
    found = difference(meant, ran, machine(4, hardware_threads=2))
    assert [one.rank for one in found] == [rank for rank, (a, b) in enumerate(pairs) if set(a) != set(b)]
    assert difference(meant, {**meant, "measured": True}, machine(4, hardware_threads=2)) == []
    assert len(sentences(found)) <= 8 * (FEW_RANKS + 1)
