"""Who has to share units with whom."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, rank_map
from workshop.report.analysis.threads import oversubscription


def said(*allowed: list[int], cores: int = 4, hardware_threads: int = 1, threads: int = 1) -> list[tuple[object, ...]]:
    crowds = oversubscription(rank_map(*allowed), machine(cores, hardware_threads=hardware_threads), threads)
    return [(crowd.ranks, crowd.units, crowd.cores, crowd.threads, crowd.kind) for crowd in crowds]


@pytest.mark.parametrize(
    ("allowed", "more", "expected"),
    [
        ([[0], [1]], {}, []),
        ([[0, 1], [0, 1]], {}, []),  # the same units, but enough for both
        ([[0, 1, 2, 3]] * 5, {}, [((0, 1, 2, 3, 4), (0, 1, 2, 3), 4, 5, "units")]),
        ([[0], [1], [0], [1]], {}, [((0, 2), (0,), 1, 2, "units"), ((1, 3), (1,), 1, 2, "units")]),
        ([[0]], {"threads": 2}, [((0,), (0,), 1, 2, "units")]),
        # One bound rank and three that may go anywhere: together they are four on four.
        # Rank 1 could leave, ranks 0 and 2 can't: what they lack is said once.
        ([[0], [0, 1], [0]], {}, [((0, 2), (0,), 1, 2, "units")]),
        # Two hardware threads per core: units 0 and 2 are core 0.
        ([[0, 2], [1, 3]], {"cores": 2, "hardware_threads": 2}, []),
        # A hardware thread each, but of the same core.
        ([[0], [2]], {"cores": 2, "hardware_threads": 2}, [((0, 1), (0, 2), 1, 2, "cores")]),
        ([[0, 2], [0, 2]], {"cores": 2, "hardware_threads": 2}, [((0, 1), (0, 2), 1, 2, "cores")]),
        ([[0, 2]] * 3, {"cores": 2, "hardware_threads": 2}, [((0, 1, 2), (0, 2), 1, 3, "units")]),
    ],
)
def test_crowds(allowed: list[list[int]], more: dict[str, int], expected: list[tuple[object, ...]]) -> None:
    assert said(*allowed, **more) == expected


def test_hosts_are_apart() -> None:
    first, second = rank_map([0]), rank_map([0], host="other")
    second["ranks"][0]["rank"] = 1
    both = {"measured": True, "ranks": [*first["ranks"], *second["ranks"]]}
    assert oversubscription(both, machine(2)) == []


# Bindings as they occur: every rank has a core, a package of two cores, or the whole machine of four.
LEVELS = [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]]


@given(st.lists(st.sampled_from(LEVELS), max_size=6))
def test_somebody_shares_exactly_when_there_is_no_way_round_it(allowed: list[list[int]]) -> None:
    """The oracle is Hall's theorem, over all groups of ranks: n ranks need n units."""
    impossible = any(
        len(set().union(*group)) < size
        for size in range(1, len(allowed) + 1)
        for group in combinations(map(set, allowed), size)
    )
    assert bool(said(*allowed)) == impossible
