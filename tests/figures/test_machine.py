"""The machine picture shows every unit, who may run there, and who has to share."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from tests.analysis.cases import machine, rank_map
from workshop.figures import theme
from workshop.figures.machine import machine_picture


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


def test_nothing_to_draw_says_so() -> None:
    assert "No machine yet" in words(machine_picture(None, None))
