"""Learning alone in a real browser, on a phone: answer, see why, come back, see how it went, start over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.dashboard import served
from tests.browser.conftest import NewPage
from tests.conftest import leftovers
from tests.support import limit
from workshop.quiz import reader
from workshop.quiz.deck import Deck
from workshop.quiz.types.choice import Single
from workshop.quiz.types.number import Predict
from workshop.store.store import Store
from workshop.web.auth import new_secrets

PATIENCE = limit(30) * 1000  # milliseconds


@pytest.fixture
def url(workshop_home: Path) -> Iterator[str]:
    with Store.open() as store, served() as (_, port):
        _, code = new_secrets(store)
        yield f"http://127.0.0.1:{port}/join?code={code}&next=%2Fquiz%2Falone%2Fkmeans"
    assert not leftovers(workshop_home)


@pytest.fixture
def deck() -> Deck:
    found = reader.lab_decks()["kmeans"]
    assert isinstance(found, Deck)
    return found


def heading(page: Page, words: str) -> None:
    expect(page.locator("h1")).to_have_text(re.compile(words), timeout=PATIENCE)


def test_a_quiz_is_learnt_alone_on_a_phone(new_page: NewPage, url: str, deck: Deck) -> None:
    single = next(question for question in deck.questions if isinstance(question, Single))
    predict = next(question for question in deck.questions if isinstance(question, Predict))
    page = new_page(390, 844)
    page.set_default_timeout(PATIENCE)
    page.goto(url)
    page.fill("input[name=nickname]", "Ada")
    page.click("button[type=submit]")
    heading(page, re.escape(deck.title))
    page.click("text=Begin")
    heading(page, f"Question 1 of {len(deck.questions)}")

    page.goto(f"{page.url.partition('#')[0]}#{single.id}")
    page.locator(f"section[data-question='{single.id}']").wait_for()
    page.click("text=Answer")
    expect(page.locator(".status")).to_have_text("Choose an answer first.")
    page.locator("label.option").first.click()
    page.click("button.send")
    page.locator(".judged").wait_for()
    expect(page.locator("label.option.is-right")).to_have_count(1)
    expect(page.locator(".explanation")).to_be_visible()
    page.reload()
    page.locator(".judged").wait_for()
    expect(page.locator("label.option input").first).to_be_disabled()

    page.goto(f"{page.url.partition('#')[0]}#{predict.id}")
    page.fill(f"section[data-question='{predict.id}'] input", "2")
    page.click("text=Keep my prediction")
    expect(page.locator(".measuring")).to_contain_text("No session is up")
    expect(page.locator(".judged")).to_have_count(0)

    page.goto(f"{page.url.partition('#')[0]}#score")
    heading(page, "So far")
    expect(page.locator(".again button")).not_to_have_count(0)
    page.click("text=Start over")
    page.click("text=Yes, start over")
    heading(page, "Question 1 of")
    expect(page.locator(".through.open")).to_have_count(len(deck.questions))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the phone"
