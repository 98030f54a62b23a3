"""Whose updates lie far from the others', as a figure."""

from __future__ import annotations

import math

from workshop.workloads.federated.report.figures import HONEST, POISONED, distances

TOLD = {1: [1.0, 1.5], 2: [9.0, 8.0], 3: [math.nan, 1.2]}


def test_a_line_for_each_institution_with_its_number_at_its_end():
    drawn = distances([1, 2], TOLD)
    assert [list(trace.y) for trace in drawn.data] == [[1.0, 1.5], [9.0, 8.0], [None, 1.2]]
    assert {trace.line.color for trace in drawn.data} == {HONEST}
    assert [trace.text for trace in drawn.data] == [("", "1"), ("", "2"), ("", "3")]
    assert not drawn.layout.showlegend


def test_those_who_are_known_to_be_poisoned_are_marked():
    drawn = distances([1, 2], TOLD, [2])
    assert [trace.line.color for trace in drawn.data] == [HONEST, POISONED, HONEST]
    assert [trace.line.dash for trace in drawn.data] == ["solid", "dash", "solid"]
    assert [trace.name for trace in drawn.data if trace.showlegend] == ["honest", "poisoned"]


def test_many_lines_have_no_numbers_and_none_are_said_to_be_none():
    assert not any(trace.text for trace in distances([1], {one: [1.0] for one in range(1, 65)}).data)
    assert "No round" in distances([], {}).layout.annotations[0].text
