"""The sections of a run's page: which are open, the list of contents, and links to a section."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.dashboard import served
from tests.browser.accessibility import violations
from tests.browser.conftest import NewPage
from tests.web import seed, training
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real


def test_sections_open_close_and_are_linked(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, seed.alive(store, "class") as session, served() as (_, port):
        token, _ = new_secrets(store)
        run = training.completed(store, session)
        page = new_page()
        page.goto(f"http://127.0.0.1:{port}/?token={token}")
        page.goto(f"http://127.0.0.1:{port}/run?run={run.id}")
        contents = page.get_by_role("navigation", name="Contents of this page")
        expect(contents.get_by_role("link")).to_have_text(
            ["Verdict and result", "Learning", "Time", "Placement", "Files"]
        )
        expect(page.locator("#learning")).to_have_attribute("open", "")
        expect(page.locator("[data-card=timeline]")).not_to_be_visible()
        contents.get_by_role("link", name="Time").click()
        expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
        expect(contents).to_be_in_viewport()
        page.locator("#learning > summary").click()
        store.put_artifact(run.id, "other.txt", "text/plain", b"more")
        contents.get_by_role("link", name="Files").click()
        expect(page.locator("#files")).to_contain_text("other.txt")
        expect(page.locator("#learning")).not_to_have_attribute("open", "")
        assert violations(page) == []
        contents.get_by_role("link", name="Time").click()
        contents.get_by_role("button", name="Replay").click()
        controls = page.get_by_role("group", name="Replay")
        slider = controls.get_by_role("slider", name="Time since the start of the run")
        expect(page.locator("[data-card=timeline]")).to_have_count(0)  # its file came at the end
        assert violations(page) == []
        slider.focus()
        page.keyboard.press("End")
        expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
        controls.get_by_role("button", name="Play").click()
        expect(controls.get_by_role("button", name="Pause")).to_be_visible()
        contents.get_by_role("button", name="Replay").click()
        expect(controls).not_to_be_visible()
        expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
        contents.get_by_role("link", name="Files").click()
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        contents.get_by_role("button", name="Copy link").click()
        address = page.evaluate("window.copied")
        assert address == f"http://127.0.0.1:{port}/run?run={run.id}#files"
        later = page.context.new_page()
        later.goto(address)
        expect(later.locator("#files > summary")).to_be_in_viewport()
        expect(later.locator("#files")).to_have_attribute("open", "")
        page.set_viewport_size({"width": 1920, "height": 1080})
        page.goto(f"http://127.0.0.1:{port}/run?run={run.id}&projector=1")
        expect(page.get_by_text("What came out")).to_be_visible()
        expect(page.get_by_role("button")).to_have_count(0)
        assert violations(page) == []
