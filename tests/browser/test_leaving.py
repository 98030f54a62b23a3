"""What somebody sees who is logged out while a page is open."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from benchmarks.dashboard import served
from tests.browser.conftest import NewPage
from workshop.store.store import Store
from workshop.web.auth import new_secrets

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
