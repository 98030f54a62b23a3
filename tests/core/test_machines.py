"""Machines from numbers and from lstopo's files, good ones and hostile ones."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lstopo import HEAD, written
from workshop.core import machines, topology
from workshop.core.errors import BadInput


@st.composite
def shapes(draw: st.DrawFn) -> machines.MachineDescription:
    """Invented machines with NUMA nodes and caches that lie in each other."""
    numa = draw(st.sampled_from([1, 1, 2, 4]))
    l3 = draw(st.sampled_from([number for number in (1, 2, 4) if number % numa == 0 or numa % number == 0]))
    cores = max(numa, l3) * draw(st.integers(1, 3))
    return machines.synthetic(f"{draw(st.integers(1, 3))}x{cores}x{draw(st.integers(1, 3))}", numa, l3)


@st.composite
def renumbered(draw: st.DrawFn) -> machines.MachineDescription:
    """The same as lstopo's files, on which the operating system numbers units in an order of its own."""
    described = draw(shapes())
    numbers = draw(st.permutations(range(len(described.units))))
    spread = draw(st.sampled_from([1, 1, 3]))
    return machines.read(written(described.machine, numbers=[spread * number for number in numbers]))


def test_the_workshops_machine() -> None:
    described = machines.read(" 2x4x2 ")
    assert described.synthetic == "pack:2 [numa] l3:1 core:4 pu:2"
    rows = {row["unit"]: row for row in described.units}
    assert len(rows) == 16
    assert rows[9] == {"unit": 9, "core": 4, "package": 1, "numa": 1, "l3": 1}
    assert (described.cores, described.count("package"), described.real) == (8, 2, False)
    assert described.machine["host"] == ""


def test_several_numa_nodes_and_caches_in_a_package() -> None:
    described = machines.read("2x8, numa=2 ,l3=4")
    assert described.synthetic == "pack:2 numa:2 l3:2 core:2 pu:1"
    assert [row["numa"] for row in described.units] == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert [row["l3"] for row in described.units[:8]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert machines.read("2x8,numa=4,l3=2").synthetic == "pack:2 l3:2 numa:2 core:2 pu:1"
    assert machines.read("2×4").name == "2x4"


def test_this_machine() -> None:
    described = machines.read("this")
    assert described == machines.read("") == machines.this()
    assert described.real
    assert described.machine == topology.machine() | {"host": ""}
    assert 1 <= described.cores <= len(os.sched_getaffinity(0))


def test_hosts_are_alike() -> None:
    machine = machines.read("1x2").as_hosts(["a", "b"])
    assert (machine["host"], [other["host"] for other in machine["more"]]) == ("a", ["b"])
    assert machine["units"] == machine["more"][0]["units"]
    assert "more" not in machines.read("1x2").as_hosts(["a"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2", "is not a machine"),
        ("2x", "is not a machine"),
        ("0x4", "at least one"),
        ("2x4x2x2", "is not a machine"),
        ("-2x4", "is not a machine"),
        ("2x4,numa", "numa=N and l3=N"),
        ("2x4,l2=1", "numa=N and l3=N"),
        ("2x4,numa=3", "shared out evenly over 3 NUMA nodes"),
        ("2x6,numa=2,l3=3", "shared out evenly"),
        ("2x4,l3=0", "at least one"),
        ("9999x9999", "processing units"),
        ("x" * 500, "no XML"),
        ("<", "no XML"),
        ("<html></html>", "doesn't describe a machine"),
        ("<topology/>", "doesn't describe a machine"),
        (f"{HEAD}<object type='Machine'/></topology>", "no processing unit"),
        (f"{HEAD}<object type='Machine'><object type='PU'/></object></topology>", "can't be read"),
        (f"{HEAD}<object type='Machine'><object type='PU' os_index='-1'/></object></topology>", "can't be read"),
        (f"{HEAD}<object type='Machine'><object type='PU' os_index='x'/></object></topology>", "can't be read"),
        ('<!DOCTYPE topology SYSTEM "http://elsewhere/x.dtd"><topology/>', "doesn't describe"),
        (f"{HEAD}<object type='Machine' allowed_cpuset='0x1.5f'/></topology>", "can't be read"),
        ('<!DOCTYPE t [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><topology>&b;</topology>', "no XML"),
        ('<?xml version="1.0" encoding="nonsense"?><topology/>', "no XML"),
        ("<topology>\udc80</topology>", "no XML"),
    ],
)
def test_what_is_no_machine_gets_one_sentence(text: str, words: str) -> None:
    with pytest.raises(BadInput) as error:
        machines.read(text)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


@given(shapes(), st.booleans())
def test_lstopos_file_tells_the_same(described: machines.MachineDescription, interleaved: bool) -> None:
    read = machines.read(written(described.machine, interleaved))
    rows = sorted(read.units, key=lambda row: (row["core"], row["unit"]))
    expected = [{**row, "unit": given["unit"]} for row, given in zip(described.units, rows, strict=True)]
    assert rows == expected
    assert read.machine["memory_bytes"] == described.count("numa") << 30
    assert machines.from_lstopo(read.xml or "").units == read.units
    assert read.name.startswith("a machine of ")


def test_what_a_container_holds_back_is_left_out() -> None:
    text = written(machines.read("1x4").machine).replace('allowed_cpuset="0x0000000f"', 'allowed_cpuset="0x0000000c"')
    assert [(row["unit"], row["core"]) for row in machines.read(text).units] == [(2, 0), (3, 1)]


@given(st.text(max_size=60) | st.from_regex(r"[0-9x×,=numal3 ]{0,30}", fullmatch=True))
def test_anything_else_is_bad_input(text: str) -> None:
    try:
        described = machines.read(text)
    except BadInput:
        return
    assert described.units


def test_a_numa_node_may_be_around_the_whole_machine() -> None:
    """As hwloc's first version wrote machines with one node."""
    text = written(machines.read("2x2").machine)
    first = text[text.index("<object") :].replace('type="Machine"', 'type="NUMANode" local_memory="4096"')
    nodes = [line for line in first.splitlines() if 'type="NUMANode"' in line and line.endswith("/>")]
    for line in nodes:
        first = first.replace(line, "")
    read = machines.read(f'<!DOCTYPE topology SYSTEM "hwloc.dtd">\n<topology>{first}')
    assert [(row["unit"], row["core"], row["package"], row["numa"]) for row in read.units] == [
        (0, 0, 0, 0),
        (1, 1, 0, 0),
        (2, 2, 1, 0),
        (3, 3, 1, 0),
    ]
    assert read.machine["memory_bytes"] == 4096


def test_a_node_may_lie_in_the_cache_of_its_memory() -> None:
    text = written(machines.read("2x4,numa=2").machine)
    plain = machines.read(text)
    cached = re.sub(
        r'<object type="NUMANode"[^>]*( cpuset="[^"]*")[^>]*( nodeset="[^"]*")[^>]*/>',
        lambda node: f'<object type="MemCache"{node[1]}{node[2]} cache_size="4096" depth="1">{node[0]}</object>',
        text,
    )
    read = machines.read(cached)
    assert read.count("numa") == 4 and read.units == plain.units
    assert read.machine["memory_bytes"] == plain.machine["memory_bytes"]


def test_nodes_that_a_container_holds_back_are_left_out() -> None:
    """hwloc numbers those that are left; units of the others have no node."""
    text = written(machines.read("3x2").machine).replace('allowed_nodeset="0x00000007"', 'allowed_nodeset="0x00000006"')
    read = machines.read(text)
    assert [row["numa"] for row in read.units] == [2, 2, 0, 0, 1, 1]
    assert read.machine["memory_bytes"] == 2 << 30
