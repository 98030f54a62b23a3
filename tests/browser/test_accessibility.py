"""Every page of a session that is up, for the instructor and for a learner on a phone, by the rules of WCAG 2.2 AA.
tests/browser/test_replay.py looks at the pages with results."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import in_both_colours
from tests.browser.conftest import Class, NewPage, join
from tests.support import limit
from workshop.quiz import reader
from workshop.web.quiz import rounds

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(300))]
PAGES = {
    "/": "Right now",
    "/labs": "Distributed k-means",
    "/labs?lab=kmeans&part=5": "Run this",
    "/session": "rank 1",
    "/placement": "Where the ranks would run",
    "/run": "Start the run",
    "/explore": "Where does an MPI put",
    "/tuning": "Tuning",
    "/federated": "Attack and protect",
    "/quizzes": "Learn alone",
    "/history": "No run fits",
    "/quiz/alone/kmeans": "questions",
}


def look(page: Page, url: str, path: str, text: str) -> list[str]:
    page.goto(f"{url}{path}")
    expect(page.get_by_text(text).filter(visible=True).first).to_be_visible(timeout=limit(60) * 1000)
    expect(page.locator('[data-testid="stHeader"] [data-testid="stStatusWidget"]')).to_have_count(0)
    return [f"{path}: {violation}" for violation in in_both_colours(page)]


@pytest.mark.exhaustive
def test_axe_finds_nothing(workshop: Class, new_page: NewPage) -> None:
    phone = new_page(390, 844)
    phone.goto(f"{workshop.url}/join")
    assert in_both_colours(phone) == []
    join(phone, workshop, "Lea")
    page = new_page()
    page.goto(f"{workshop.url}/?token={workshop.token}")
    deck, folder = reader.deck("kmeans")
    quiz_round = rounds.host(workshop.store, deck, folder)
    live = {f"/quiz/{quiz_round.id}/{view}": quiz_round.code or "" for view in ("host", "projector")}
    problems = [problem for path, text in PAGES.items() for problem in look(phone, workshop.url, path, text)]
    for path, text in {**PAGES, "/progress": "Class", **live}.items():
        problems += look(page, workshop.url, path, text)
    assert not problems, "\n".join(problems)


def test_places_and_menu_are_reached_by_keyboard_and_by_thumb(workshop: Class, new_page: NewPage) -> None:
    page = new_page(390, 844)
    join(page, workshop, "Thea")
    expect(page.locator(".st-key-menu")).to_be_visible()
    links = page.locator(".st-key-places a")
    expect(links).to_have_count(5)
    boxes = [link.bounding_box() for link in links.all()]
    assert all(box and min(box["width"], box["height"]) >= 44 for box in boxes)
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.innerText.trim().split('\\n').pop()"))
    assert {"Home", "Labs", "Run", "Explore", "Quiz"} <= reached
    page.goto(f"{workshop.url}/accessibility")
    expect(page.get_by_role("heading", name="What doesn't work yet")).to_be_visible()
