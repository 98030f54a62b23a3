"""The page of studies in a real Chromium: it follows a study that goes on, and lists the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.study import seed
from tests.web import seed as class_seed
from workshop.bench.viewers import served
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def test_a_study_is_followed_to_its_end(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, served() as (_, port):
        token, _ = new_secrets(store)
        with class_seed.alive(store, "class") as session:
            seed.study(store, session)
            goes_on = seed.study(store, session, weak=True, ended=4)
            page = new_page()
            page.goto(f"http://127.0.0.1:{port}/?token={token}")
            store.keep_study(goes_on.id, "seed")
            page.goto(f"http://127.0.0.1:{port}/studies")
            expect(page.get_by_text("4 of 9 runs")).to_be_visible(timeout=60_000)
            expect(page.get_by_text("Weak scaling of mnist")).to_be_visible()
            page.evaluate("window.stillTheSamePage = true")

            seed.end(store, session, goes_on.id, 5)
            store.keep_study(goes_on.id, "seed")
            expect(page.get_by_text("5 of 9 runs")).to_be_visible(timeout=20_000)
            for number in range(6, 10):
                seed.end(store, session, goes_on.id, number)
            store.finish_study(goes_on.id, "seed", "completed")
            expect(page.get_by_text("completed · 9 of 9 runs")).to_be_visible(timeout=20_000)
            expect(page.locator(".js-plotly-plot")).to_have_count(4)
            assert page.evaluate("window.stillTheSamePage")
            page.goto(f"http://127.0.0.1:{port}/studies?study=1")
            expect(page.get_by_text("Strong scaling of mnist")).to_be_visible(timeout=20_000)
