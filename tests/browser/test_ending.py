"""A page that is open when its run ends: what the reader looks at stays where it is.

What somebody sees who is logged out while a page is open.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.dashboard import served
from tests.browser.conftest import Class, NewPage
from tests.web import seed
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real

PLACES = (".ws-verdict", "[data-card=photo]", "[data-card=machine]", "[data-card=stream]", "#learning")
OBSERVE = """() => {
  window.shift = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => { window.shift += entry.value; })).observe(
    { type: "layout-shift" });
}"""
STILL = 0.1  # the layout shift up to which a page counts as still; the verdict's own words change at the end


def place(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize("width", [1440, 390])
def test_the_end_of_a_run_moves_nothing(quiet: Class, new_page: NewPage, width: int) -> None:
    store, session = quiet.store, quiet.session
    run = seed.running(store, session)
    page = new_page(width)
    page.goto(f"{quiet.url}/?token={quiet.token}")
    page.goto(f"{quiet.url}/run?run={run.id}")
    store.put_artifact(run.id, "input/photo", "image/png", seed.png())
    store.put_artifact(run.id, "preview.png", "image/png", seed.png())
    expect(page.get_by_alt_text("So far")).to_be_visible()
    expect(page.locator("[data-card=stream] svg").first).to_be_visible()
    expect(page.locator(".ws-verdict")).to_contain_text("So far")
    before = [place(page, selector) for selector in PLACES]
    page.evaluate(OBSERVE)
    seed.complete(store, session, run)
    expect(page.locator(".ws[data-status=completed]")).to_be_visible()
    expect(page.locator(".ws-verdict")).to_contain_text("Verdict")
    expect(page.get_by_alt_text("After")).to_have_count(1)
    page.get_by_text("Kill a rank").wait_for(state="detached")  # the page is drawn again, without what a run needs
    page.locator(".st-key-facts", has_text="Run ").wait_for(state="detached")
    still = 4 if width > 640 else 2  # on a phone the photo's palette stands above the ranks
    assert [place(page, selector) for selector in PLACES[:still]] == pytest.approx(before[:still], abs=2)
    assert page.evaluate("window.shift") < STILL
    page.reload()
    expect(page.locator("[data-card=stream] svg").first).to_be_visible()
    assert sorted(PLACES, key=lambda selector: place(page, selector)) == sorted(
        PLACES, key=lambda selector: before[PLACES.index(selector)]
    )


PATIENCE = 60_000  # ms


def test_a_page_whose_visitor_is_out_leads_to_the_door_and_back(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, served() as (_, port):
        _, code = new_secrets(store)
        page = new_page(390, 844)
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{port}/join?code={code}&next=%2Fhistory")
        page.get_by_label("Nickname").fill("Ada")
        page.get_by_role("button", name="Come in").click()
        page.get_by_role("button", name="Menu").wait_for()
        _, code = new_secrets(store)
        page.wait_for_url("**/join?wrong=out&next=%2Fhistory")
        expect(page.get_by_role("alert")).to_have_text("The instructor has ended your session.")
        expect(page.get_by_label("Nickname")).to_have_value("Ada")
        page.get_by_label("Class code").fill(code)
        page.get_by_role("button", name="Come in").click()
        page.wait_for_url("**/history")
        # By the page itself.
        page.get_by_role("button", name="Menu").click(timeout=PATIENCE)
        expect(page.get_by_test_id("stPopoverBody")).to_contain_text(re.compile(r"Ada\s*.*Glossary\s*.*Log out", re.S))
        page.get_by_text("Log out").click()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Nickname")).to_have_value("")
