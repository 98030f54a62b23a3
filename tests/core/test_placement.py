"""Placements are validated, frozen, and print themselves."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.core.placement import THREAD_VARIABLES, Host, Placement, default_for, hosts_from


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ranks": -1}, "ranks is -1"),
        ({"map_by": "socket"}, "map_by is 'socket'"),
        ({"per_resource": 2}, "of which resource"),
        ({"hosts": [{"name": "a", "slots": 1}], "ranks": 2}, "the hosts have 1 slots"),
        ({"hosts": [{"name": "a"}, {"name": "a"}], "ranks": 1}, "host a is named twice"),
        ({"hosts": [{"name": "-oProxyCommand=x", "slots": 2}]}, "is not a host name"),
        ({"environment": {"A B": "1"}}, "'A B' is not the name of a variable"),
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
    assert placement.describe() == "2 ranks × 4 threads, unbound"


@pytest.mark.parametrize(
    ("cores", "ranks", "each"), [(1, 2, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (6, 4, 1), (8, 4, 2), (72, 4, 18)]
)
def test_what_a_machine_gets_where_nobody_asks(cores: int, ranks: int, each: int) -> None:
    placement = default_for(cores)
    assert placement == Placement(ranks=ranks, cores_per_rank=each)
    assert placement.threads_per_rank == each


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("a:2,b:3", {"a": 2, "b": 3}),
        ("a,b,a", {"a": 2, "b": 1}),
        ("# all of them\na slots=2 max_slots=4  # the fast one\n\nb:3\nc\n", {"a": 2, "b": 3, "c": 1}),
        (f"{'a' * 63}.{'b' * 63}:2", {f"{'a' * 63}.{'b' * 63}": 2}),
        ("10.0.0.1:2\r\nnode-1.example.org slots=2\r\n", {"10.0.0.1": 2, "node-1.example.org": 2}),
    ],
)
def test_hosts_in_a_line_or_a_file(text: str, slots: dict[str, int]) -> None:
    assert hosts_from(text) == tuple(Host(name=name, slots=number) for name, number in slots.items())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no host"),
        ("\n# nobody\n", "no host"),
        ("a:", "host a has ''"),
        ("a:2048", "from 1 to 1024"),
        (f"a:000001{'9' * 5000}", "from 1 to 1024"),
        ("a slots=2 speed=3", "'speed=3' can't follow host a"),
        ("a..b:1", "'a..b' is not a host name"),
        (".".join(["a" * 50] * 5), "is not a host name"),
        ("ok\n-oProxyCommand=x", "line 2 of the hosts: '-oProxyCommand=x' is not a host name"),
        (",".join(f"h{number}" for number in range(300)), "at most 256"),
    ],
)
def test_hosts_that_cannot_be_read_get_one_sentence(text: str, words: str) -> None:
    with pytest.raises(BadInput) as error:
        hosts_from(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@given(st.text(max_size=30) | st.from_regex(r"[ab:, 0-9\n#=slots]{0,30}", fullmatch=True))
def test_anything_else_is_no_list_of_hosts(text: str) -> None:
    with suppress(BadInput):
        assert all(host.slots >= 1 for host in hosts_from(text))
