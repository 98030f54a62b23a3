"""The projector in a real browser: the photo stays first, and the type can be read from the last row."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Class, NewPage
from tests.web import seed
from workshop.web import classroom
from workshop.web.auth import let_in

pytestmark = pytest.mark.real
# The smallest type in sight, in pixels of the screen.
SMALLEST = """() => Math.min(...[...document.querySelectorAll(".ws-live *")]
  .filter((part) => part.checkVisibility())
  .filter((part) => [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((part) => parseFloat(getComputedStyle(part).fontSize) * part.currentCSSZoom))"""


def test_the_photo_comes_first_and_the_type_is_large(quiet: Class, new_page: NewPage) -> None:
    store, session = quiet.store, quiet.session
    page = new_page(1920, 1080)
    page.goto(f"{quiet.url}/?token={quiet.token}")
    run = seed.running(store, session)
    store.put_artifact(run.id, "input/photo", "image/png", seed.png("#102030", 400))
    page.goto(f"{quiet.url}/session?projector=1")
    photo = page.locator("[data-card=photo]")
    expect(photo.locator("img").first).to_be_in_viewport(ratio=1)
    classroom.pin_run(store, let_in(store, "instructor", "Ina")[0], run.id)
    seed.complete(store, session, run)
    expect(page.locator("[data-card=verdict]")).to_be_visible()
    expect(photo.locator("img").last).to_be_in_viewport(ratio=1)
    newer = seed.running(store, session)
    expect(page.get_by_role("heading", name=f"run {run.id}")).to_be_visible()
    expect(page.get_by_role("heading", name=f"run {newer.id}")).to_have_count(0)
    assert page.evaluate(SMALLEST) >= 40
