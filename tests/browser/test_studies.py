"""The page of studies in a real Chromium: it follows a study that goes on, and lists the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from benchmarks.dashboard import served
from tests.browser.conftest import NewPage
from tests.study import seed
from tests.study.cards import seed as grids
from tests.support import limit, until
from tests.web import seed as class_seed
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real


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
            expect(page.get_by_text("4 of 9 runs")).to_be_visible(timeout=limit(60) * 1000)
            expect(page.get_by_role("heading", name="Weak scaling of mnist")).to_be_visible()
            page.evaluate("window.stillTheSamePage = true")

            seed.end(store, session, goes_on.id, 5)
            store.keep_study(goes_on.id, "seed")
            expect(page.get_by_text("5 of 9 runs")).to_be_visible()
            for number in range(6, 10):
                seed.end(store, session, goes_on.id, number)
            store.finish_study(goes_on.id, "seed", "completed")
            expect(page.get_by_text("completed · 9 of 9 runs")).to_be_visible()
            expect(page.locator(".js-plotly-plot")).to_have_count(2)
            assert page.evaluate("window.stillTheSamePage")
            page.goto(f"http://127.0.0.1:{port}/studies?study=1")
            expect(page.get_by_role("heading", name="Strong scaling of mnist")).to_be_visible()


def at_rest(there: Locator) -> FloatRect | None:
    """Where something is, once it has stayed there for a while."""
    before = there.bounding_box()
    there.page.wait_for_timeout(500)
    return before if before == there.bounding_box() else None


@pytest.mark.exhaustive
def test_a_cell_of_a_heat_map_shows_its_ranks(workshop_home: Path, new_page: NewPage) -> None:
    rates = {(1, 1): 500.0, (2, 1): 900.0, (1, 2): grids.FAILED, (2, 2): 400.0}
    with Store.open() as store, served() as (_, port):
        token, _ = new_secrets(store)
        session = class_seed.session(store)
        study = grids.grid(
            store, session, {"ranks": [1, 2], "threads": [1, 2]}, lambda p: rates[p["ranks"], p["threads"]]
        )
        run = next(one for one in store.runs(study_id=study.id) if one.metrics.get("images_per_second") == 900.0)
        page = new_page(height=2000)
        page.goto(f"http://127.0.0.1:{port}/?token={token}")
        page.goto(f"http://127.0.0.1:{port}/studies")
        cells = page.locator(".js-plotly-plot .nsewdrag").first
        expect(page.get_by_text("Click at a mark")).to_be_visible(timeout=limit(60) * 1000)
        box = until(lambda: at_rest(cells), 30, "the figure to have found its place")
        assert box is not None
        page.mouse.move(box["x"] + 0.74 * box["width"], box["y"] + 0.75 * box["height"])
        page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.75 * box["height"])
        expect(page.get_by_text(f"Where the ranks of run {run.id} were")).to_be_visible()
        expect(page.get_by_text("2 ranks, 1 thread · 900 images/s in 1 run")).to_be_visible()
        expect(page.locator(".js-plotly-plot")).to_have_count(2)
        loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name.toLowerCase())")
        assert len([name for name in loaded if "plotly" in name]) == 1, "a page loads plotly.js once"

        with page.expect_download() as waiting:
            page.get_by_role("button", name="Download as HTML").click()
        assert waiting.value.suggested_filename == f"study-{study.id}.html"
        alone = new_page()
        alone.set_content(Path(waiting.value.path()).read_text(), wait_until="load")
        expect(alone.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        expect(alone.get_by_role("heading", name="Mnist over ranks × threads")).to_be_visible()
