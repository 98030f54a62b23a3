"""Figures of federations hold the numbers that they were given."""

from __future__ import annotations

import math

from workshop.workloads.federated.report.figures import by_round, shares

LABELS = [[10, 0, 0, 0, 0, 0, 0, 0, 0, 5], [0, 40, 1, 0, 0, 0, 0, 0, 0, 0]]


def test_every_institution_has_a_row_of_its_digits():
    figure = shares(LABELS)
    (cells,) = figure.data
    assert [list(row) for row in cells.z] == LABELS
    assert list(cells.y) == [1, 2]
    assert (cells.text[1][1], cells.text[0][1], cells.texttemplate) == ("40", "", "%{text}")
    assert figure.layout.yaxis.autorange == "reversed"  # the first one on top


def test_many_institutions_have_colours_without_numbers():
    figure = shares([[1] * 10 for _ in range(64)])
    assert figure.data[0].texttemplate is None
    assert figure.data[0].showscale
    assert figure.layout.height <= 760


def test_accuracies_by_round_leave_out_what_nobody_told():
    figure = by_round([1, 2, 3], [[0.5, 0.75, 1.0], [0.25, math.nan, 0.5]], (0.25, 1.0))
    (cells,) = figure.data
    assert [list(row) for row in cells.z] == [[0.5, 0.75, 1.0], [0.25, None, 0.5]]
    assert (cells.zmin, cells.zmax) == (0.25, 1.0)
    assert (cells.text[0][1], cells.text[1][1]) == ("75", "")
    assert "NaN" not in figure.to_json()


def test_all_alike_is_drawn_too():
    (cells,) = by_round([1], [[1.0]], (1.0, 1.0)).data
    assert cells.zmin < cells.zmax


def test_nothing_yet_says_so():
    for figure in (shares([]), by_round([], [], (0, 1))):
        assert figure.layout.annotations[0].text.endswith("yet")
