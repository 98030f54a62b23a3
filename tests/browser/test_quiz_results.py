"""Results of a round in a real browser: readable on a laptop, a phone and paper, without a script."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.web.quiz.counted import LEARNERS, Counted, counted
from workshop.store.store import Store
from workshop.web.auth_middleware import cookie_name

pytestmark = pytest.mark.real


@pytest.fixture
def there(store: Store) -> Iterator[Counted]:
    with counted(store) as made:
        yield made


def visit(page: Page, there: Counted, nickname: str, path: str) -> list[str]:
    """Open a page as somebody; what the browser refuses to load or to run comes into the list."""
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    here = f"http://127.0.0.1:{there.port}"
    page.context.add_cookies([{"name": cookie_name(there.port), "value": there.secrets[nickname], "url": here}])
    page.goto(f"{here}{path}")
    return told


def is_laid_out(page: Page) -> None:
    """Nothing is cut off, and the bars of the figures are as wide as they should be."""
    wide, there = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= there
    shares = page.evaluate(
        "[...document.querySelectorAll('meter')].map(bar => [bar.getBoundingClientRect().width, bar.value])"
    )
    assert len(shares) > LEARNERS
    assert all(width > 40 and 0 <= value <= 1 for width, value in shares)


@pytest.mark.parametrize("width", [1280, 390])
def test_results_are_readable(new_page: NewPage, there: Counted, width: int) -> None:
    page = new_page(width=width)
    told = visit(page, there, "Instructor", f"/quiz/{there.round.id}/results")
    expect(page.get_by_role("heading", level=1)).to_have_text("Results: Ranks and their cores")
    expect(page.get_by_text("Zoë <b>bold</b>").first).to_be_visible()
    is_laid_out(page)
    page.get_by_role("link", name="Without nicknames").click()
    expect(page.get_by_text("learner-12").first).to_be_visible()
    is_laid_out(page)
    page.emulate_media(media="print")
    expect(page.get_by_role("link", name="With nicknames")).to_be_hidden()
    assert told == []


def test_the_report_is_a_page_of_its_own(new_page: NewPage, there: Counted) -> None:
    page = new_page()
    visit(page, there, "Instructor", f"/quiz/{there.round.id}/results")
    with page.expect_download() as download:
        page.get_by_role("link", name="Class report").click()
    data = download.value.path().read_bytes()
    alone = new_page(width=700)
    told: list[str] = []
    alone.on("console", lambda message: told.append(message.text))
    alone.goto(f"data:text/html;base64,{base64.b64encode(data).decode()}")
    expect(alone.get_by_role("heading", level=1)).to_have_text("Results: Ranks and their cores")
    assert (
        alone.locator("section.ws-verdict").evaluate("one => getComputedStyle(one).backgroundColor")
        == "rgb(244, 249, 251)"
    )
    is_laid_out(alone)
    assert told == []
