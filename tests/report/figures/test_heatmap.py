"""Heat maps: a cell for each pair, and what became of those without a value."""

from __future__ import annotations

import json

import plotly.graph_objects as go

from workshop.report.figures import theme
from workshop.report.figures.heatmap import WRITTEN, heatmap
from workshop.report.figures.marks import BEST, Point

POINTS = {
    (1, 1): Point("1x1", (100.0, 110.0)),
    (2, 1): Point("2x1", (900.0,)),
    (1, 2): Point("1x2", state="failed", why="out of memory"),
    (2, 2): Point("2x2", state="pruned", reached=40.0),
}


def drawn() -> go.Figure:
    return heatmap([1, 2], [1, 2], POINTS, ("ranks", "threads"), "images/s")


def written(figure: go.Figure) -> go.Scatter:
    return next(trace for trace in figure.data[1:] if trace.mode == "markers+text")


def test_every_cell_says_what_it_is() -> None:
    marks = written(drawn())
    cells = {place: text for place, text in zip(marks.customdata, marks.text, strict=True)}
    assert cells == {0: "105", 1: "900", 2: "×", 3: "40"}
    assert "out of memory" in marks.hovertext[2]
    colours = dict(zip(marks.customdata, marks.textfont.color, strict=True))
    assert (colours[0], colours[1]) == (theme.INK, theme.PAPER), "words can be read on light and on dark"


def test_the_best_is_framed_and_the_failed_one_marked() -> None:
    frames = {shape.line.color: (shape.x0 + 0.47, shape.y0 + 0.47) for shape in drawn().layout.shapes}
    assert frames == {theme.ALARM: (0.0, 1.0), BEST: (1.0, 0.0)}


def test_pruned_cells_are_hatched() -> None:
    (hatched,) = [trace for trace in drawn().data[1:] if trace.fill == "toself"]
    assert hatched.fillpattern.shape == "/"
    assert (min(x for x in hatched.x if x is not None), max(x for x in hatched.x if x is not None)) == (0.52, 1.48)


def test_a_large_one_has_a_scale_instead_of_values() -> None:
    many = list(range(WRITTEN + 1))
    figure = heatmap(many, [1], {(at, 1): Point(str(at), (1.0 + at,)) for at in many}, ("a", "b"), "images/s")
    assert figure.data[0].showscale
    assert not any(written(figure).text)
    assert not drawn().data[0].showscale


def test_settings_are_words_and_no_markup() -> None:
    figure = heatmap(["<b>x</b>", "y"], [1], {("<b>x</b>", 1): Point("<b>x</b>", (1.0,))}, ("a", "b"), "images/s")
    told = json.dumps(figure.to_plotly_json(), default=list)
    assert "<b>x" not in told and "&lt;b&gt;x" in told
