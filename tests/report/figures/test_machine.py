"""The machine picture shows every unit, who may run there, and who has to share."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, rank_map
from workshop.core import machines
from workshop.report.figures import theme
from workshop.report.figures.machine import NOT_MEANT, Box, arrange, machine_picture


def shapes(figure: go.Figure, colour: str) -> list[Any]:
    return [shape for shape in figure.layout.shapes if shape.fillcolor == colour]


def alarms(figure: go.Figure) -> int:
    return sum(shape.line.color == theme.ALARM for shape in figure.layout.shapes)


def words(figure: go.Figure) -> str:
    return " | ".join(note.text for note in figure.layout.annotations)


def test_ranks_on_cores_of_their_own() -> None:
    figure = machine_picture(machine(2), rank_map([0], [1], seen=[[0], [1]]))
    assert len(shapes(figure, theme.rank_colour(0))) == len(shapes(figure, theme.rank_colour(1))) == 1
    assert alarms(figure) == 0
    for expected in ("laptop · Test CPU · 24 GiB", "package 0", "core 1", "rank 0", "rank 1", "1 thread", "unit 1"):
        assert expected in words(figure)


def test_shared_units_have_the_stripes_of_all_and_an_alarm() -> None:
    figure = machine_picture(machine(2), rank_map(*[[0, 1]] * 4))
    for rank in range(4):
        stripes = shapes(figure, theme.rank_colour(rank))
        assert len(stripes) == 2, "one on each unit"
    widths = {round(shape.x1 - shape.x0, 6) for rank in range(4) for shape in shapes(figure, theme.rank_colour(rank))}
    assert len(widths) == 1
    assert alarms(figure) == 2
    assert "unit 0 · shared" in words(figure)


def test_a_large_machine_has_a_place_for_every_unit() -> None:
    figure = machine_picture(machine(64, packages=2, hardware_threads=2), rank_map(*[[n, n + 64] for n in range(32)]))
    assert len(figure.data[0].x) == 128
    assert "package 1" in words(figure)
    assert alarms(figure) == 0
    assert figure.layout.height <= 600


def test_caches_are_drawn_within_numa_nodes_and_numa_nodes_within_caches() -> None:
    within = machine_picture(machines.synthetic("1x8", numa=2, l3=4).machine, None)
    assert [note.text for note in within.layout.annotations if "NUMA" in note.text or "L3" in note.text] == [
        *("NUMA node 0", "L3 cache 0", "L3 cache 1", "NUMA node 1", "L3 cache 2", "L3 cache 3")
    ]
    around = machine_picture(machines.synthetic("1x8", numa=4, l3=2).machine, None)
    assert [note.text for note in around.layout.annotations if "NUMA" in note.text or "L3" in note.text] == [
        *("L3 cache 0", "NUMA node 0", "NUMA node 1", "L3 cache 1", "NUMA node 2", "NUMA node 3")
    ]


def test_all_hosts_of_a_run_are_drawn() -> None:
    hosts = machines.synthetic("1x2").as_hosts(["hostA", "hostB", "hostC"])
    one, other = rank_map([0], host="hostA")["ranks"], rank_map([1], host="hostC")["ranks"]
    figure = machine_picture(hosts, {"ranks": [*one, {**other[0], "rank": 1}]})
    for host in ("hostA", "hostB", "hostC"):
        assert host in words(figure)
    texts = figure.data[0].hovertext
    assert len(texts) == 6
    assert "rank 1 may run here" in texts[5]


def test_a_rank_that_ran_elsewhere_is_marked() -> None:
    figure = machine_picture(machine(2), rank_map([0], [0]), 1, predicted=rank_map([0], [1]))
    dashed = [shape for shape in figure.layout.shapes if shape.line.dash == "dash"]
    assert [shape.line.color for shape in dashed] == [theme.rank_colour(1)], "where it was meant to run"
    assert len([shape for shape in figure.layout.shapes if shape.line.dash == "dot"]) == 1, "where it ran"
    assert NOT_MEANT in words(figure)
    assert "unit 1 · meant for rank 1" in words(figure)
    assert "rank 1 may run here, but was not meant to" in figure.data[0].hovertext[0]
    assert "rank 1 was meant to run here, but may not" in figure.data[0].hovertext[1]


def test_who_ran_where_it_was_meant_to_is_not_marked() -> None:
    here = rank_map([0], [1])
    figure = machine_picture(machine(2), here, 1, predicted=here)
    assert not [shape for shape in figure.layout.shapes if shape.line.dash]
    unknown = {"ranks": [{**report, "units": []} for report in here["ranks"]]}
    assert not [shape for shape in machine_picture(machine(2), here, 1, unknown).layout.shapes if shape.line.dash]


leaves = st.builds(lambda width: Box("unit", width=width), st.floats(0.5, 4))
trees = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda kind, head, children: Box(kind, "title", children, head=head),
        st.sampled_from(["host", "package", "group", "core"]),
        st.sampled_from([0.0, 0.3]),
        st.lists(inner, min_size=1, max_size=9),
    ),
    max_leaves=40,
)


@given(trees, st.floats(0.5, 5))
def test_children_are_inside_and_apart(tree: Box, aspect: float) -> None:
    arrange(tree, aspect)
    for box in tree.everything():
        for child in box.children:
            assert box.x < child.x
            assert box.y + box.head < child.y
            assert child.x + child.width < box.x + box.width
            assert child.y + child.height < box.y + box.height
        for number, one in enumerate(box.children):
            for other in box.children[number + 1 :]:
                beside = one.x + one.width < other.x or other.x + other.width < one.x
                above = one.y + one.height < other.y or other.y + other.height < one.y
                assert beside or above
