"""Placements are validated, frozen, and print themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.errors import BadInput
from workshop.placement import THREAD_VARIABLES, Placement, default_for


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ranks": 0}, "ranks is 0"),
        ({"ranks": -1}, "ranks is -1"),
        ({"ranks": 10_000}, "ranks is 10000"),
        ({"ranks": "two"}, "ranks is 'two'"),
        ({"map_by": "socket"}, "map_by is 'socket'"),
        ({"rank": 2}, "rank is not one of its settings"),
        ({"per_resource": 2}, "of which resource"),
        ({"hosts": [{"name": "a", "slots": 1}], "ranks": 2}, "the hosts have 1 slots"),
        ({"hosts": [{"name": "-oProxyCommand=x", "slots": 2}]}, "is not a host name"),
        ({"environment": {"A B": "1"}}, "'A B' is not the name of a variable"),
        ({"environment": {"A": "1\n2"}}, "more than one line"),
    ],
)
def test_bad_placements_get_one_sentence(values: dict, words: str) -> None:
    with pytest.raises(BadInput) as error:
        Placement.parse(values)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


placements = st.builds(
    lambda mapping, **rest: Placement(map_by=mapping[0], per_resource=mapping[1], **rest),
    mapping=st.one_of(
        st.tuples(st.sampled_from(["auto", "slot"]), st.none()),
        st.tuples(st.sampled_from(["core", "numa", "package"]), st.none() | st.integers(1, 8)),
    ),
    ranks=st.integers(1, 64),
    cores_per_rank=st.integers(1, 8),
    bind_to=st.sampled_from(["auto", "none", "core", "package"]),
    threads=st.none() | st.integers(1, 64),
    environment=st.dictionaries(
        st.from_regex(r"[A-Z_]{1,12}", fullmatch=True), st.text("abc,= 1", max_size=8), max_size=3
    ),
)


@given(placements)
def test_a_placement_survives_json(placement: Placement) -> None:
    assert Placement.parse(placement.as_json()) == placement


@given(placements)
def test_every_library_is_told_its_threads_unless_asked_otherwise(placement: Placement) -> None:
    told = placement.rank_environment()
    for name in THREAD_VARIABLES:
        assert told[name] == placement.environment.get(name, str(placement.threads or placement.cores_per_rank))


def test_it_is_frozen_and_describes_itself() -> None:
    placement = Placement(ranks=2, threads=4, bind_to="none")
    with pytest.raises(ValueError, match="frozen"):
        placement.ranks = 3
    assert placement.describe() == "2 ranks x 4 threads, unbound"


@pytest.mark.parametrize(
    ("cores", "ranks", "each"), [(1, 2, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (6, 4, 1), (8, 4, 2), (72, 4, 18)]
)
def test_what_a_machine_gets_where_nobody_asks(cores: int, ranks: int, each: int) -> None:
    placement = default_for(cores)
    assert placement == Placement(ranks=ranks, cores_per_rank=each)
    assert placement.threads_per_rank == each


def test_two_cores_get_the_plain_defaults() -> None:
    assert default_for(2) == Placement()
