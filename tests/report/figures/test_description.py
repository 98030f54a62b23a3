"""Figures in words and as tables, for people who can't see them."""

from __future__ import annotations

import plotly.graph_objects as go
from hypothesis import given
from hypothesis import strategies as st

from workshop.report import html
from workshop.report.figures import description
from workshop.report.figures.description import MOST_ROWS

VALUES = st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False, width=32)), max_size=300)


def lines(**named: list[float | None]) -> go.Figure:
    figure = go.Figure([go.Scatter(x=list(range(len(y))), y=y, name=f"<b>{name}</b>") for name, y in named.items()])
    return figure.update_layout(xaxis_title_text="step", yaxis_title_text="loss")


def test_a_line_chart_is_described_by_its_axes_and_ranges() -> None:
    figure = lines(first=[2.5, 1.25, 0.5], second=[3.0])
    assert description.sentence(figure) == "Chart of loss over step: first, 3 points from 0.5 to 2.5; second, 3."
    headings, rows = description.table(figure)
    assert headings == ["Series", "step", "loss"]
    assert rows == [["first", "0", "2.5"], ["first", "1", "1.25"], ["first", "2", "0.5"], ["second", "0", "3"]]


def test_text_of_a_figure_is_shown_as_text() -> None:
    told = html.data(go.Figure(go.Scatter(x=["<script>"], y=[1.0], name="a & b")))
    assert "<script>" not in told and "a &amp; b" in told


@given(VALUES)
def test_a_table_has_a_hundred_rows_at_most_with_both_ends(values: list[float | None]) -> None:
    _, rows = description.table(lines(one=values))
    places = [place for place, value in enumerate(values) if value is not None]
    assert len(rows) == min(len(places), MOST_ROWS)
    if places:
        assert (rows[0][1], rows[-1][1]) == (str(places[0]), str(places[-1]))
    assert "nan" not in description.sentence(lines(one=values))
