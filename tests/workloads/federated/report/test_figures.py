"""Figures of federations hold the numbers that they were given."""

from __future__ import annotations

import math

import pytest

from workshop.workloads.federated.report.figures import by_round, phase_times, shares

LABELS = [[10, 0, 0, 0, 0, 0, 0, 0, 0, 5], [0, 40, 1, 0, 0, 0, 0, 0, 0, 0]]


def test_every_institution_has_a_row_of_its_digits():
    figure = shares(LABELS)
    (cells,) = figure.data
    assert [list(row) for row in cells.z] == LABELS
    assert list(cells.y) == [1, 2]
    written = {(note.y, note.x): note.text for note in figure.layout.annotations}
    assert (written[2, 1], written[1, 1]) == ("40", "")
    assert figure.layout.yaxis.autorange == "reversed"  # the first one on top


def test_many_institutions_have_colours_without_numbers():
    figure = shares([[1] * 10 for _ in range(64)])
    assert not figure.layout.annotations
    assert figure.data[0].showscale
    assert figure.layout.height <= 760


def test_accuracies_by_round_leave_out_what_nobody_told():
    figure = by_round([1, 2, 3], [[0.5, 0.75, 1.0], [0.25, math.nan, 0.5]], (0.25, 1.0))
    (cells,) = figure.data
    assert [list(row) for row in cells.z] == [[0.5, 0.75, 1.0], [0.25, None, 0.5]]
    assert (cells.zmin, cells.zmax) == (0.25, 1.0)
    written = {(note.y, note.x): note.text for note in figure.layout.annotations}
    assert (written[1, 2], written[2, 2]) == ("75", "")
    assert "NaN" not in figure.to_json()


def test_all_alike_is_drawn_too():
    (cells,) = by_round([1], [[1.0]], (1.0, 1.0)).data
    assert cells.zmin < cells.zmax


def test_phases_are_seconds_of_a_round():
    figure = phase_times({"train": [20.0, 10.0], "wait": [0.0, 10.0], "gather": [0.0, 0.0], "unknown": [1.0, 1.0]}, 10)
    assert [(bar.name, list(bar.x)) for bar in figure.data] == [("train", [2.0, 1.0]), ("wait", [0.0, 1.0])]
    assert list(figure.data[0].y) == ["rank 0", "rank 1"]
    (quick,) = phase_times({"train": [0.02]}, 10).data
    assert list(quick.x) == pytest.approx([2.0])  # milliseconds


def test_nothing_yet_says_so():
    for figure in (shares([]), by_round([], [], (0, 1)), phase_times({}, 3), phase_times({"train": [1.0]}, 0)):
        assert figure.layout.annotations[0].text.endswith("yet")
