"""Cards as HTML: every kind of part, nothing of which becomes markup, and the places of figures.

Figures in words and as tables, for people who can't see them.
"""

from __future__ import annotations

import json
import re
from html import unescape

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.report import cards, html
from workshop.report.cards import Card
from workshop.report.html import MOST_ROWS

NASTY = "</p><script>alert(1)</script> \"quoted\" & 'said'"
EVERY = (
    cards.paragraph(cards.line(NASTY, NASTY, "note"), cards.line(NASTY, tone="heading")),
    cards.tiles([{"label": NASTY, "value": NASTY}]),
    cards.code(NASTY),
    cards.fold(NASTY, NASTY),
    cards.links(cards.link(f"/run?{NASTY}", NASTY, NASTY, button=True)),
    cards.pictures([cards.picture(f"/artifact/1/{NASTY}", NASTY, NASTY)], small=True),
    cards.table(
        [NASTY],
        [[NASTY], [{"text": NASTY, "colour": f'#000"{NASTY}'}], [{"links": [cards.link(f"/run?{NASTY}", NASTY)]}]],
    ),
)


@pytest.mark.parametrize("part", EVERY, ids=lambda part: part["kind"])
def test_what_people_wrote_is_shown_as_text(part: cards.Part) -> None:
    (made,) = html.pieces([part])
    assert isinstance(made, str)
    assert "<script" not in made
    assert NASTY in unescape(re.sub("<[^>]*>", "", made)) or f'alt="{NASTY}"' in unescape(made)
    assert not re.search(r"<[^>]*\s(on\w+)=", made)


def test_parts_that_are_drawn_elsewhere_stay_in_their_order() -> None:
    drawn = cards.figure(go.Figure())
    found = list(html.pieces([EVERY[0], EVERY[1], drawn, EVERY[2]]))
    assert [piece if isinstance(piece, str) else piece["kind"] for piece in found][1] == "figure"
    assert len(found) == 3
    assert [piece["kind"] for piece in html.pieces(EVERY, ("code", "fold")) if not isinstance(piece, str)] == [
        "code",
        "fold",
    ]


def test_without_a_dashboard_links_are_words() -> None:
    made = "".join(piece for piece in html.pieces(EVERY, linked=False) if isinstance(piece, str))
    assert "<a" not in made and "href" not in made


@pytest.mark.parametrize(("held", "shown"), [(None, ""), ("", "is too large"), ("data:image/png;base64,AA", "<img")])
def test_a_picture_is_shown_as_far_as_it_can_be(held: str | None, shown: str) -> None:
    part = cards.pictures([cards.picture("/artifact/1/a.png", "A")])
    made = "".join(piece for piece in html.pieces([part], source=lambda _: held) if isinstance(piece, str))
    assert shown in made and bool(made) == bool(shown)


def test_live_cards_have_places_for_their_figures() -> None:
    drawn = [cards.figure(go.Figure({"data": [{"y": [number]}]}), width) for number, width in ((1, 0), (2, 900))]
    first = Card(NASTY, NASTY, (drawn[0],), half=True, tone="verdict", switch=True)
    told = json.loads(html.live([first, Card("b", "", (cards.paragraph(), drawn[1]))]))
    assert [one["data"][0]["y"] for one in told["figures"]] == [[1], [2]]
    assert re.findall('data-figure="(.*?)" data-width="(.*?)"', told["html"]) == [("0", "0"), ("1", "900")]
    assert 'class="ws-card ws-verdict ws-half"' in told["html"]
    assert told["html"].count("ws-switch") == 1
    assert "<script" not in told["html"]


VALUES = st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=False, width=32)), max_size=300)


def lines(**named: list[float | None]) -> go.Figure:
    figure = go.Figure([go.Scatter(x=list(range(len(y))), y=y, name=f"<b>{name}</b>") for name, y in named.items()])
    return figure.update_layout(xaxis_title_text="step", yaxis_title_text="loss")


def test_a_line_chart_is_described_by_its_axes_and_ranges() -> None:
    figure = lines(first=[2.5, 1.25, 0.5], second=[3.0])
    assert html.figure_sentence(figure) == "Chart of loss over step: first, 3 points from 0.5 to 2.5; second, 3."
    headings, rows = html.figure_table(figure)
    assert headings == ["Series", "step", "loss"]
    assert rows == [["first", "0", "2.5"], ["first", "1", "1.25"], ["first", "2", "0.5"], ["second", "0", "3"]]


def test_text_of_a_figure_is_shown_as_text() -> None:
    told = html.data(go.Figure(go.Scatter(x=["<script>"], y=[1.0], name="a & b")))
    assert "<script>" not in told and "a &amp; b" in told


@given(VALUES)
def test_a_table_has_a_hundred_rows_at_most_with_both_ends(values: list[float | None]) -> None:
    _, rows = html.figure_table(lines(one=values))
    places = [place for place, value in enumerate(values) if value is not None]
    assert len(rows) == min(len(places), MOST_ROWS)
    if places:
        assert (rows[0][1], rows[-1][1]) == (str(places[0]), str(places[-1]))
    assert "nan" not in html.figure_sentence(lines(one=values))
