"""A whole live round: an instructor, a projector and three learners, and a prediction that a real run measures."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Class, NewPage, join
from tests.browser.quiz_players import SOON, Learner, instructor, put_by_arrows, put_by_keys
from tests.support import until

pytestmark = pytest.mark.real

DECK = """
deck: trial
title: A trial of <b>everything</b>
seconds: 600
shuffle: false
questions:
  - id: start
    type: single
    text: How many ranks does `mpirun -n 4` start?
    points: 2
    explanation: One process for each, and $4 = 4$.
    options:
      - {text: four, right: true, feedback: So it says.}
      - {text: one, feedback: That would be no parallel program.}
      - {text: "<script>alert(1)</script>"}
  - id: size
    type: number
    text: How many bytes are four float32 numbers?
    answer: 16
    unit: bytes
  - id: step
    type: order
    text: What does a rank do in a step, in which order?
    items: [read a batch, compute gradients, exchange them, update the weights]
  - id: rounds
    type: predict
    text: How many iterations will k-means take?
    runs: {short: {workload: kmeans, params: {clusters: 4, iterations: 3, tolerance: 0}}}
    truth: short.iterations
    unit: iterations
    tolerance: {absolute: 1}
"""
# Keeps the addresses of all frames that a page shows: a short run is over before a test could look.
FRAMES = """() => {
  window.frames_shown = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) window.frames_shown.push(target.getAttribute("src"));
  }).observe(document.body, { attributes: true, attributeFilter: ["src"], subtree: true });
}"""
NICKNAMES = ("<i>Ada</i>", "Bo", "ليلى")


@dataclass
class Round:
    host: Page
    projector: Page
    learners: list[Learner]

    def next(self, label: str) -> None:
        """Press the one button for what comes next, which has to say this."""
        button = self.host.locator("button.next")
        expect(button).to_contain_text(label, timeout=SOON)
        button.click()

    def answered(self, words: str) -> None:
        expect(self.projector.locator(".screen-count")).to_have_text(words, timeout=SOON)

    @property
    def end(self) -> float:
        """When the question closes by what the host's page tells, to about a second."""
        return time.monotonic() + int(re.sub(r"\D", "", self.host.locator(".clock-words").inner_text()))

    def everybody_at(self, phase: str, within: float = SOON) -> None:
        for page in (self.host, self.projector, *(learner.page for learner in self.learners)):
            shown = page.locator(f"body[data-phase={phase}], .screen[data-phase={phase}]")
            expect(shown.first).to_be_attached(timeout=within)


@contextmanager
def pressed(button: Locator) -> Iterator[None]:
    """Hold a button down meanwhile: what the page hears in that time doesn't undo the press."""
    button.hover()
    button.page.mouse.down()
    yield
    button.page.mouse.up()


@pytest.fixture
def played(workshop: Class, new_page: NewPage) -> Iterator[Round]:
    """A round whose instructor, projector and learners are there."""
    host = new_page(1280, 800)
    where, code = instructor(host, workshop.url, workshop.token, DECK)
    host.goto(f"{where}/host")
    projector = host.context.new_page()
    projector.set_viewport_size({"width": 1920, "height": 1080})
    projector.goto(f"{where}/projector")
    expect(projector.locator(".code")).to_have_text(code, timeout=SOON)
    learners = [Learner(new_page(*size)) for size in ((390, 844), (1280, 800), (820, 1180))]
    for learner, nickname in zip(learners, NICKNAMES, strict=True):
        learner.join(workshop.url, code, nickname)
    yield Round(host, projector, learners)


def test_a_whole_round(workshop: Class, played: Round) -> None:
    ada, bo, _ = played.learners
    late = played.learners[2]

    # The lobby: everybody's nickname, as text.
    expect(played.projector.locator(".names .name")).to_have_text([*reversed(NICKNAMES)], timeout=SOON)
    expect(played.host.locator(".roster tbody .name")).to_have_text([*NICKNAMES], timeout=SOON)
    assert played.projector.locator("i", has_text="Ada").count() == 0
    qr = played.projector.locator("img.qr")
    until(lambda: qr.evaluate("image => image.naturalWidth"), 30, "the QR code")

    # A choice. Nobody else's screen tells what was chosen, and nobody's what is right.
    played.next("Open question 1")
    for learner in played.learners:
        learner.at("Question 1 of 4")
    expect(played.projector.get_by_text("<script>alert(1)</script>")).to_be_visible()
    ada.choose("four")
    row = played.host.locator(".roster tbody tr", has_text="Bo")
    with pressed(row.get_by_role("button", name="Remove")):
        bo.choose("one")
        expect(row).to_contain_text("answered", timeout=SOON)
    row.get_by_role("button", name="No").click()
    played.answered("2 of 3 answered")
    assert ada.page.get_by_text("So it says").count() == 0

    # A pause: what was chosen stays, and nothing can be sent until it goes on.
    late.page.get_by_role("radio", name="<script>").check()
    pause, go_on = (played.host.get_by_role("button", name=name) for name in ("Pause", "Go on"))
    before = played.end
    with pressed(pause):
        played.host.keyboard.press("t")
        until(lambda: played.end > before + 10, 30, "15 more seconds")
    expect(go_on).to_be_visible(timeout=SOON)
    played.host.keyboard.press("p")
    expect(pause).to_be_visible(timeout=SOON)
    expect(late.page.get_by_role("button", name="Send my answer")).to_be_enabled(timeout=SOON)
    played.host.keyboard.press("p")
    expect(late.page.get_by_role("button", name="Paused")).to_be_disabled(timeout=SOON)
    go_on.click()
    late.send()
    played.answered("3 of 3 answered")
    played.next("Close now")
    played.everybody_at("closed")
    bars = played.projector.locator(".bar-row")
    expect(bars).to_have_count(3, timeout=SOON)
    assert [bar.get_attribute("data-count") for bar in bars.all()] == ["1", "1", "1"]
    expect(played.projector.locator(".bar-row.is-right")).to_have_count(0)
    played.next("Show answer")
    expect(ada.judged).to_contain_text("Right", timeout=SOON)
    expect(ada.judged).to_contain_text("+2 points")
    expect(bo.judged).to_contain_text("Not right", timeout=SOON)
    expect(bo.page.get_by_text("That would be no parallel program.")).to_be_visible()
    expect(played.projector.locator(".bar-row.is-right")).to_contain_text("four", timeout=SOON)
    played.next("Ranking")
    expect(ada.page.locator(".standing")).to_have_text("You are number 1 of 3 with 2 points.", timeout=SOON)
    expect(played.projector.locator(".ranking li").first).to_contain_text("<i>Ada</i>")

    # A number: one learner's line is cut in the middle, another one reloads.
    played.next("Open question 2")
    for learner in played.learners:
        learner.at("Question 2 of 4")
    ada.page.get_by_role("textbox").fill("1")
    ada.cut = True
    ada.sockets[-1].close()
    expect(ada.page.get_by_text("Connection lost, coming back…")).to_be_visible(timeout=SOON)
    ada.page.get_by_role("textbox").fill("16")
    ada.page.get_by_role("button", name="Send my answer").click()
    expect(ada.page.get_by_text("It is sent as soon as the connection is back…")).to_be_visible()
    bo.page.get_by_role("textbox").fill("1,6e1")
    bo.page.reload()
    bo.at("Question 2 of 4")
    expect(bo.page.get_by_role("textbox")).to_have_value("1,6e1")
    bo.send()
    ada.cut = False
    expect(ada.page.get_by_text("Your answer is kept")).to_be_visible(timeout=SOON)
    late.page.get_by_role("textbox").fill("many")
    late.page.get_by_role("button", name="Send my answer").click()
    expect(late.page.locator(".status.bad")).to_contain_text("many", timeout=SOON)
    late.type("64")
    bo.page.reload()  # a kept answer comes back as kept
    expect(bo.page.get_by_text("Your answer is kept")).to_be_visible(timeout=SOON)
    expect(bo.page.get_by_role("textbox")).to_be_disabled()
    played.next("Close now")
    played.next("Show answer")
    expect(bo.judged).to_contain_text("Right", timeout=SOON)
    expect(played.projector.locator(".line")).to_contain_text("right: 16 bytes")

    # An order, by keys, by the arrows and by dragging.
    played.next("Ranking")
    played.next("Open question 3")
    right = ["read a batch", "compute gradients", "exchange them", "update the weights"]
    for learner in played.learners:
        learner.at("Question 3 of 4")
        assert sorted(learner.items()) == sorted(right)
        assert learner.items() != right
    put_by_keys(ada, right)
    put_by_arrows(bo, right)
    *others, last = late.items()
    late.page.locator(".handle").last.drag_to(late.page.locator(".handle").first, target_position={"x": 5, "y": 2})
    expect(late.page.locator(".item-text")).to_have_text([last, *others])
    late.send()
    played.answered("3 of 3 answered")
    played.next("Close now")
    played.next("Show answer")
    for learner in (ada, bo):
        expect(learner.judged).to_contain_text("Right", timeout=SOON)

    # Somebody is removed: asked once more, told so, and out of the ranking.
    row = played.host.locator(".roster tbody tr", has_text=NICKNAMES[2])
    row.get_by_role("button", name="Remove").click()
    row.get_by_role("button", name="Yes, remove").click()
    expect(late.page.get_by_role("heading", level=1)).to_have_text("You are no longer in this round", timeout=SOON)
    expect(played.host.locator(".roster tbody tr")).to_have_count(2, timeout=SOON)
    played.learners.remove(late)

    # A prediction: the run is a real one, and guesses appear together with what was measured.
    played.next("Ranking")
    played.next("Open question 4")
    for learner, guess in ((ada, "2"), (bo, "30")):
        learner.at("Question 4 of 4")
        learner.type(guess)
    played.next("Close now")
    played.everybody_at("closed")
    assert played.projector.locator(".dot").count() == 0
    played.projector.evaluate(FRAMES)
    played.next("Run it on the cluster")
    played.everybody_at("explained", within=90_000)
    (run,) = workshop.store.runs(session_id=workshop.session.id)
    assert (run.status, run.metrics["iterations"]) == ("completed", 3)
    assert played.projector.evaluate("window.frames_shown") == [f"run?run={run.id}&projector=1"]
    expect(played.projector.locator(".line")).to_contain_text("measured: 3 iterations")
    expect(played.projector.locator(".solution")).to_contain_text("3 iterations")
    expect(played.projector.locator(".dot")).to_have_count(2)
    expect(ada.judged).to_contain_text("Right", timeout=SOON)
    expect(bo.judged).to_contain_text("Not right", timeout=SOON)

    # The podium, and the end, for which a double click is not enough.
    end = played.host.get_by_role("button", name="End the round")
    end.dblclick()
    expect(end).to_have_text("End the round: yes, do it")
    played.host.get_by_role("button", name="No", exact=True).click()
    expect(end).to_have_text("End the round")
    expect(end).to_be_focused()
    played.next("Podium")
    expect(played.projector.locator(".step-1")).to_contain_text("<i>Ada</i>", timeout=SOON)
    expect(ada.page.locator(".standing")).to_contain_text("You are number 1 of 2")
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= 390
    played.next("End the round")
    for learner in played.learners:
        learner.at("The round has ended")
    stored = workshop.store.answers(int(played.host.url.split("/")[-2]))
    assert len(stored) == 11, "three learners' answers to three questions, two to the last one"


@pytest.mark.exhaustive
def test_a_class_votes_talks_and_votes_again(quiet: Class, new_page: NewPage) -> None:
    host = new_page(1280, 800)
    where, code = instructor(host, quiet.url, quiet.token, DECK, vote_twice=True)
    host.goto(f"{where}/host")
    projector = host.context.new_page()
    projector.goto(f"{where}/projector")
    learners = [Learner(new_page(390, 844)) for _ in NICKNAMES]
    for learner, nickname in zip(learners, NICKNAMES, strict=True):
        learner.join(quiet.url, code, nickname)
    played = Round(host, projector, learners)
    ada, bo, late = learners

    played.next("Open question 1")
    for learner, answer in zip(learners, ("four", "one", "one"), strict=True):
        learner.at("Question 1 of 4")
        learner.choose(answer)
    played.next("Close now")
    hidden = host.locator(".hidden-votes")
    expect(hidden).to_contain_text("1 of 3 right. Talking helps most between 35 and 70 % right.", timeout=SOON)
    expect(hidden.locator(".bar-row")).to_have_count(3)
    played.everybody_at("closed")
    for page in (projector, ada.page):
        expect(page.locator("[data-count], .option-mark", has_text="answer")).to_have_count(0)

    # One of three is just below the share for which talking is the next step, but the host may choose it.
    expect(host.locator("button.next")).to_contain_text("Show answer")
    host.keyboard.press("d")
    played.everybody_at("discussing")
    expect(projector.get_by_role("heading", name="Talk to your neighbour, then vote again")).to_be_visible()
    expect(projector.locator(".clock-words")).to_be_visible()
    expect(bo.page.get_by_text("say what you chose, and why")).to_be_visible()
    expect(hidden).to_be_visible()
    played.next("Vote again")
    for learner in learners:
        learner.at("Question 1 of 4, second vote")
    ada.choose("four")
    bo.choose("four")
    played.answered("2 of 3 answered")
    played.next("Close now")
    late.at("Question 1 of 4, second vote")
    played.next("Show answer")
    expect(bo.judged).to_contain_text("+2 points", timeout=SOON)
    expect(bo.page.get_by_text("First vote: 33 % right. Second vote: 100 % right.")).to_be_visible()
    expect(late.judged).to_contain_text("No answer from you", timeout=SOON)
    expect(projector.get_by_role("heading", name="First vote: 33 % right")).to_be_visible(timeout=SOON)
    expect(projector.get_by_role("heading", name="Second vote: 100 % right")).to_be_visible()

    host.goto(f"{where}/results")
    expect(host.get_by_text("First vote 33 % right, second vote 100 % right")).to_be_visible(timeout=SOON)
    expect(host.get_by_text("First vote, before the class talked")).to_be_visible()


def test_a_member_is_led_to_what_was_wrong_and_the_projector_back_to_the_class(quiet: Class, new_page: NewPage) -> None:
    deck = DECK.partition("  - id: size")[0].replace("deck: trial\n", "deck: trial\nlab: first\n")
    deck = deck.replace("    points: 2\n", "    points: 2\n    section: Words\n")
    host = new_page(1280, 800)
    where, code = instructor(host, quiet.url, quiet.token, deck)
    host.goto(f"{where}/host")
    projector = host.context.new_page()
    projector.clock.install()
    projector.goto(f"{where}/projector?follow=class")
    page = new_page(390, 844)
    join(page, quiet, "Ada")
    learner = Learner(page)
    page.goto(f"{quiet.url}/quiz?code={code}")  # a member of the class needs no form
    learner.at("You are in")
    steps = Round(host, projector, [learner])
    steps.next("Open question 1")
    learner.choose("one")
    steps.next("Close")
    steps.next("Show")
    expect(learner.judged).to_contain_text("Not right", timeout=SOON)
    steps.next("Podium")
    steps.next("End the round")
    learner.at("The round has ended")
    expect(page.get_by_role("link", name="Go over: Words")).to_have_attribute("href", "labs?lab=first&section=Words")
    expect(projector.get_by_role("heading", name="The round has ended")).to_be_visible(timeout=SOON)
    projector.clock.fast_forward(30_000)
    projector.wait_for_url("**/session?projector=1")
