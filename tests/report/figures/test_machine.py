"""The machine picture shows every unit, who may run there, and who has to share."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from tests.report.analysis.cases import machine, rank_map
from workshop.core import machines
from workshop.report.figures import theme
from workshop.report.figures.machine import NOT_MEANT, machine_picture


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
    for expected in (
        "laptop · Test CPU · 24 GiB",
        "package 0",
        "core 1",
        "rank 0",
        "rank 1",
        "1 thread",
        "unit 1",
    ):
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


def test_unbound_ranks_with_room_for_all_are_no_alarm() -> None:
    assert alarms(machine_picture(machine(4), rank_map([0, 1, 2, 3], [0, 1, 2, 3]))) == 0
    assert alarms(machine_picture(machine(4), rank_map([0, 1, 2, 3], [0, 1, 2, 3]), threads_per_rank=3)) == 4


def test_idle_units_say_so() -> None:
    figure = machine_picture(machine(4), rank_map([0]))
    assert words(figure).count("idle") == 3


def test_hovering_tells_who_and_how_many_threads() -> None:
    figure = machine_picture(machine(2), rank_map([0], [1], seen=[[0], [1]]))
    texts = figure.data[0].hovertext
    assert len(texts) == 2
    assert "rank 1 may run here, 1 thread seen" in texts[1]


def test_a_large_machine_has_a_place_for_every_unit() -> None:
    figure = machine_picture(machine(64, packages=2, hardware_threads=2), rank_map(*[[n, n + 64] for n in range(32)]))
    assert len(figure.data[0].x) == 128
    assert "package 1" in words(figure)
    assert alarms(figure) == 0
    assert figure.layout.height <= 600


def test_numa_nodes_of_one_package_are_drawn() -> None:
    described = machine(4)
    for row in described["units"]:
        row["numa"] = row["core"] // 2
    assert "NUMA node 1" in words(machine_picture(described, None))


def test_hosts_whose_machine_is_unknown_are_drawn_from_what_ranks_say() -> None:
    here, there = rank_map([0])["ranks"], rank_map([3], host="other")["ranks"]
    figure = machine_picture(machine(2), {"ranks": [*here, {**there[0], "rank": 1}]})
    assert "other" in words(figure)
    assert len(shapes(figure, theme.rank_colour(1))) == 1


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


def test_threads_outside_of_their_rank_s_units_are_told() -> None:
    texts = machine_picture(machine(2), rank_map([0], [1], seen=[[0, 1], [1]])).data[0].hovertext
    assert "1 thread of rank 0 seen, which may not run here" in texts[1]


def test_on_a_large_machine_the_number_is_marked() -> None:
    meant = rank_map(*([n] for n in range(32)))
    figure = machine_picture(machine(32), rank_map([31], *([n] for n in range(1, 31)), [0]), 1, meant)
    assert [note.text for note in figure.layout.annotations if "!" in note.text] == ["<b>31!</b>", "<b>0!</b>"]


def test_nothing_to_draw_says_so() -> None:
    assert "No machine yet" in words(machine_picture(None, None))
