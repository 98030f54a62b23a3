"""Training from the page, on real ranks: started, watched, understood, and gone on from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.dashboard import served
from tests.browser.conftest import Class, NewPage, join
from tests.support import limit, until
from tests.web import seed, training
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(400))]


def accuracy(page: Page) -> int:
    """How many points the curve of accuracy has."""
    curve = page.locator("[data-card=accuracy] .ws-figure")
    return int(curve.get_attribute("data-points") or 0)


def digits_of(words: Locator) -> float:
    """The number in some words."""
    return float(re.sub(r"[^\d.]", "", words.text_content() or "") or "nan")


def axis(page: Page, card: str) -> str:
    return page.locator(f"[data-card={card}] .xtitle").text_content() or ""


@pytest.mark.exhaustive
def test_training_from_the_page(workshop: Class, new_page: NewPage) -> None:
    page = new_page()
    join(page, workshop, "Ada", "/run")
    page.get_by_role("combobox", name=re.compile("Workload")).click()
    page.get_by_role("option", name="Handwritten digits").click()
    expect(page.get_by_text("The recipe, step by step")).to_be_visible()
    page.get_by_role("radio", name="digits", exact=True).click()
    epochs = page.get_by_role("spinbutton", name="Epochs", exact=True)
    epochs.fill("20")  # long enough for a browser that comes to draw seldom
    epochs.press("Tab")
    page.get_by_role("button", name="Start the run").click()

    # Accuracy grows live, without a reload, while the run goes on.
    live = page.locator(".ws[data-status]")
    live.wait_for(timeout=limit(60) * 1000)
    page.evaluate("window.stillTheSamePage = true")
    page.locator("#learning > summary").click(timeout=limit(180) * 1000)
    page.locator("[data-card=accuracy]").wait_for()
    seen = [accuracy(page)]
    while len(seen) < 4:
        until(lambda points=seen[-1]: accuracy(page) > points, 60, "another step")
        assert live.get_attribute("data-status") == "running"
        seen.append(accuracy(page))
    expect(page.locator("[data-card='total images/s'] svg").first).to_be_visible()

    # The end: at least 95 % of the images that it has never seen, as the page says it.
    page.locator(".ws[data-status=completed]").wait_for(timeout=limit(180) * 1000)
    assert page.evaluate("window.stillTheSamePage")
    told = page.locator("[data-card=metrics] .ws-tiles > div", has_text="held-out accuracy").locator("dd")
    expect(told).to_have_text(re.compile(r"^[\d.]+ %$"))
    percent = float((told.text_content() or "").removesuffix("\N{NO-BREAK SPACE}%"))
    assert percent >= 95
    newest = page.locator("[data-card=accuracy] .legendtext", has_text="held out")
    # The curve may be drawn after the words.
    until(lambda: digits_of(newest) == pytest.approx(percent, abs=0.06), 30, f"a curve that ends at {percent} %")
    expect(page.locator("[data-card=conditions]")).to_contain_text("scikit-learn's digits")

    # Who waited for whom.
    page.locator("#time > summary").click()
    timeline = page.locator("[data-card=timeline]")
    expect(timeline.locator(".ws-words")).to_contain_text(re.compile("rank", re.IGNORECASE))
    expect(timeline.locator(".bars .point").first).to_be_visible()

    # Digits that were misread: sharp pictures with words.
    (run,) = workshop.store.runs(session_id=workshop.session.id)
    digits = page.locator("[data-card=misclassified] img")
    expect(digits).to_have_count(min(run.metrics["misclassified"], 24))
    first = digits.first
    assert re.fullmatch(r"\d, read as \d \(\d+ %\)", first.get_attribute("alt") or "")
    until(lambda: first.evaluate("image => image.naturalWidth") > 0, 30, "a picture of a digit")
    assert first.evaluate("image => getComputedStyle(image).imageRendering") == "pixelated"

    # By time instead of by step, for all curves, and the browser remembers it.
    assert axis(page, "accuracy") == "step"
    page.get_by_role("button", name="by time").click()
    for card in ("loss", "accuracy"):
        until(lambda card=card: "seconds" in axis(page, card), 30, f"{card} by time")
    page.reload()
    page.locator("#learning > summary").click()
    page.locator("[data-card=accuracy] .xtitle").wait_for()
    until(lambda: "seconds" in axis(page, "accuracy"), 30, "accuracy by time again")


@pytest.mark.exhaustive
def test_a_run_that_lost_a_rank_is_gone_on_from(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, seed.alive(store, "class") as session, served() as (_, port):
        token, _ = new_secrets(store)
        run = training.killed(store, session)
        page = new_page(390, 844)
        page.goto(f"http://127.0.0.1:{port}/?token={token}")
        page.goto(f"http://127.0.0.1:{port}/run?run={run.id}")
        page.get_by_role("link", name="Go on from this run").click()
        expect(page.get_by_role("textbox", name="Resume", exact=True)).to_have_value(str(run.id))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        form = page.locator(".st-key-drawer").bounding_box()
        live = page.locator(".ws[data-status]").bounding_box()
        assert form is not None
        assert live is not None
        assert form["y"] < live["y"], "on a phone, what to do next comes first"
