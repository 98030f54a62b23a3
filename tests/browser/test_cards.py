"""How the script of live pages puts cards in place: what is there already stays, with all that the reader did to it."""

from __future__ import annotations

import json
from pathlib import Path

import plotly.graph_objects as go
import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPage
from workshop.report import cards, html
from workshop.report.cards import Card
from workshop.web.pages import live

pytestmark = pytest.mark.real

NASTY = "<img src=x onerror=window.hit=1>"
SCRIPTS = [Path(live.__file__).with_name(name) for name in ("shared.js", "cards.js")]
# In place of Plotly, which draws in its own time: counts what it is asked for.
PLOTLY = "window.Plotly = {react: async (div, data) => { div.drawn = (div.drawn ?? 0) + 1; div.data = data; }};"


@pytest.fixture
def page(new_page: NewPage) -> Page:
    page = new_page()
    page.set_content('<div class="ws ws-live"></div>')
    page.evaluate(PLOTLY)
    page.add_script_tag(content="\n".join(path.read_text() for path in SCRIPTS))
    page.add_script_tag(
        content="const made = panel('p'); document.querySelector('.ws-live').append(made.place); window.made = made;"
    )
    return page


def show(page: Page, *shown: Card) -> None:
    page.evaluate("section => made.update(section)", json.loads(html.live(shown)))


def card(*values: float, rows: int = 3, said: str = "so far") -> Card:
    drawn = go.Figure(go.Scatter(y=list(values), mode="lines"))
    parts = (
        cards.paragraph(cards.line(said, "Verdict")),
        cards.figure(drawn),
        cards.fold("Traceback", said * 400),
        cards.table(["rank"], [[str(row)] for row in range(rows)]),
    )
    return Card("curve", "Curve", parts, switch=True)


def test_what_is_there_stays(page: Page) -> None:
    show(page, card(1.0), Card("files", "Files", (cards.paragraph(cards.line("a.txt")),)))
    page.evaluate(
        """() => {
            for (const name of ['section', '.ws-figure', 'details', 'pre', 'tbody tr', '.ws-switch button'])
                document.querySelector(name).mine = true;
            document.querySelector('details').open = true;
            document.querySelector('details pre').scrollTop = 7;
        }"""
    )
    show(page, card(1.0, 2.0, rows=5, said="later"))
    kept = "name => document.querySelector(name).mine"
    for name in ("section", ".ws-figure", "details", "pre", "tbody tr", ".ws-switch button"):
        assert page.evaluate(kept, name), name
    assert page.evaluate("document.querySelector('details').open")
    assert page.evaluate("document.querySelector('.ws-figure').drawn") == 2
    assert page.locator(".ws-figure").get_attribute("data-points") == "2"
    assert page.locator("section").get_attribute("class") == "ws-card"
    assert page.locator("section").count() == 1, "the other card is gone"
    assert page.locator("tbody tr").all_inner_texts() == list("01234")
    assert "later" in page.locator(".ws-words").inner_text()
    show(page, card(1.0, 2.0, rows=1))
    assert page.locator("tbody tr").all_inner_texts() == ["0"]


def test_a_part_that_comes_or_goes_leaves_the_figure_alone(page: Page) -> None:
    one = card(1.0)
    show(page, one)
    page.evaluate("document.querySelector('.ws-figure').mine = true")
    for parts in (one.parts[1:], one.parts, (cards.code("x"), *one.parts[1:2])):
        show(page, Card("curve", "Curve", parts))
        assert page.evaluate("document.querySelector('.ws-figure').mine")
        assert page.locator(".ws-body > *").count() == len(parts)


def test_cards_come_in_their_order_and_keep_their_elements(page: Page) -> None:
    made = {name: Card(name, name, (cards.paragraph(cards.line(name)),)) for name in "abcd"}
    show(page, made["a"], made["c"])
    page.evaluate("document.querySelectorAll('section').forEach((one) => { one.mine = one.dataset.card; })")
    show(page, *(made[name] for name in "bcda"))
    names = "[...document.querySelectorAll('section')].map((one) => [one.dataset.card, one.mine ?? ''])"
    assert page.evaluate(names) == [["b", ""], ["c", "c"], ["d", ""], ["a", "a"]]
    show(page)
    assert page.locator("section").count() == 0


def test_what_people_wrote_is_text(page: Page) -> None:
    shown = Card(NASTY, NASTY, (cards.paragraph(cards.line(NASTY, NASTY)), cards.table([NASTY], [[NASTY]])))
    show(page, shown)
    show(page, shown)
    assert page.locator("h3").inner_text() == NASTY
    assert page.locator("td").inner_text() == NASTY
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hit") is None


def test_a_picture_stays_until_the_next_one_is_there(page: Page) -> None:
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
    first, lost, last = pixel, "data:image/png;base64,none", f"{pixel}#2"
    for url, seen in ((first, first), (lost, first), (last, last)):
        show(page, Card("photo", "", (cards.pictures([cards.picture(url, "Photo", "now")]),)))
        page.wait_for_function("url => document.querySelector('img').getAttribute('src') === url", arg=seen)
        page.evaluate("document.querySelector('img').mine ??= true")
    assert page.evaluate("document.querySelector('img').mine")
