"""The way of a class without a terminal: learners join by phone, see their next step, predict, run, read why, do what
the verdict recommends and compare; the instructor follows them, and hosts a question."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Class, NewPage, join
from tests.support import limit

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(400))]
SOON = limit(60) * 1000  # milliseconds
NAMES = ("Ada", "Grace", "Lea")


def run_a_preset(page: Page, workshop: Class, preset: str, prediction: str) -> None:
    page.goto(f"{workshop.url}/run?workload=kmeans")
    page.get_by_role("button", name=preset).click()
    expect(page).to_have_url(re.compile("preset="))
    field = page.get_by_role("spinbutton", name=re.compile("^After how many iterations"))
    field.fill(prediction)
    field.press("Tab")
    page.get_by_role("button", name="Start the run").click()
    expect(page).to_have_url(re.compile(r"run=\d+"), timeout=SOON)
    expect(page.get_by_text("completed", exact=False).filter(visible=True).first).to_be_visible(timeout=SOON)


@pytest.mark.exhaustive
def test_a_class_needs_no_terminal(workshop: Class, new_page: NewPage) -> None:
    board = new_page()
    board.goto(f"{workshop.url}/?token={workshop.token}")
    board.get_by_role("button", name=workshop.code).click()
    expect(board.get_by_text("Phones and other computers can't reach this address")).to_be_visible(timeout=SOON)

    phones = [new_page(390, 844) for _ in NAMES]
    for phone, name in zip(phones, NAMES, strict=True):
        join(phone, workshop, name)
        expect(phone.get_by_role("heading", name="Your next step")).to_be_visible(timeout=SOON)
    expect(board.get_by_text("3 of 3 here")).to_be_visible(timeout=SOON)

    ada = phones[0]
    ada.get_by_role("button", name="Open the lab").click()
    expect(ada.get_by_role("heading", name="Lab 0: First contact")).to_be_visible(timeout=SOON)
    ada.goto(f"{workshop.url}/labs?lab=kmeans&part=4")
    field = ada.get_by_label("How many times as many pixels per second do two ranks read?")
    field.fill("1.8")
    field.press("Tab")
    expect(ada.get_by_text("Your guess is kept.")).to_be_visible(timeout=SOON)

    run_a_preset(ada, workshop, "Oversubscribe", "12")
    expect(ada.get_by_text("You guessed 12 iterations, measured")).to_be_visible(timeout=SOON)
    expect(ada.get_by_text("--threads")).to_have_count(0)  # a page has buttons in place of options
    ada.get_by_role("link", name=re.compile("^Set up a run with")).first.click(timeout=SOON)
    expect(ada.get_by_text("These are the settings of run")).to_be_visible(timeout=SOON)
    ada.get_by_role("button", name="Start the run").click()
    expect(ada).to_have_url(re.compile("run=2"), timeout=SOON)
    expect(ada.get_by_text("completed", exact=False).filter(visible=True).first).to_be_visible(timeout=SOON)
    ada.goto(f"{workshop.url}/history?compare=1,2")
    expect(ada.get_by_role("heading", name="What differs")).to_be_visible(timeout=SOON)

    phones[1].get_by_role("button", name="Ask for help").click()
    board.goto(f"{workshop.url}/progress")
    board.get_by_role("button", name="Answered").click(timeout=SOON)
    expect(phones[1].get_by_role("button", name="Ask for help")).to_be_visible(timeout=SOON)
    for name in NAMES:
        expect(board.get_by_text(name, exact=True).first).to_be_visible(timeout=SOON)

    board.goto(f"{workshop.url}/quizzes")
    board.get_by_role("button", name="Begin the round").click(timeout=SOON)
    expect(board).to_have_url(re.compile("/quiz/[0-9]+/host"), timeout=SOON)
    lea = phones[2]
    lea.goto(workshop.url)
    with lea.expect_popup() as tab:  # the page stays open beside the quiz
        lea.get_by_role("link", name="Join the quiz").click(timeout=SOON)
    quiz = tab.value
    expect(quiz.get_by_label("Nickname").or_(quiz.get_by_text("You are in")).first).to_be_visible(timeout=SOON)
