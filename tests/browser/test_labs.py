"""A lab in a real browser: a section opens at its top, and a run tells how it stands without a reload."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Class, NewPage

pytestmark = pytest.mark.real
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def test_the_next_section_opens_at_its_top_and_a_run_is_followed(quiet: Class, new_page: NewPage) -> None:
    store, session = quiet.store, quiet.session
    page = new_page(1366, 500)
    page.goto(f"{quiet.url}/?token={quiet.token}")
    page.goto(f"{quiet.url}/labs?lab=kmeans&part=3")
    expect(page.get_by_role("heading", name="Words", exact=True)).to_be_visible()
    page.get_by_role("button", name="Next section").click()  # the browser scrolls down to it
    expect(page.get_by_role("heading", name="Predict", exact=True)).to_be_in_viewport()
    expect(page.get_by_text("4 of 21")).to_be_in_viewport()
    page.wait_for_function(f"{SCROLLED} === 0")
    page.get_by_role("button", name="Next section").click()
    page.get_by_role("button", name="Run this").first.click()
    expect(page.get_by_text("Number 1 in the queue")).to_be_visible()
    run = store.take_next(session.id)
    assert run is not None
    store.set_run(run.id, progress=(7.0, 20.0))
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "35")
    store.finish(run.id, "completed", metrics={}, verdict={"verdict": "Well balanced."})
    expect(page.get_by_text("Well balanced.")).to_be_visible()
