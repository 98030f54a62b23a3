"""The guided study's page in a real Chromium: a guess is kept, and results come by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.dashboard import served
from tests.browser.conftest import NewPage
from tests.support import limit
from tests.web import seed
from tests.workloads.sgan.study import world
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real


def test_a_guess_and_a_step_that_is_followed_to_its_end(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, served() as (_, port):
        token, code = new_secrets(store)
        with seed.alive(store, "class") as session:
            goes_on = world.study(store, session, steps="b", ended=3)
            page = new_page(390, 844)  # a learner's phone
            page.goto(f"http://127.0.0.1:{port}/join?code={code}")
            page.get_by_label("Nickname").fill("Lea")
            page.keyboard.press("Enter")
            page.wait_for_url(lambda url: "join" not in url)
            store.keep_study(goes_on.id, "seed")
            page.goto(f"http://127.0.0.1:{port}/tuning?step=b")
            expect(page.get_by_text("stays hidden until you have guessed")).to_be_visible(timeout=limit(60) * 1000)
            assert page.get_by_text("images/s").count() == 0
            guess = page.locator("input[type=number]")
            guess.fill("1.5")
            guess.press("Tab")
            page.get_by_role("button", name="Keep my guess").click()
            expect(page.get_by_text("You guessed 1.50×", exact=False)).to_be_visible()
            expect(page.get_by_text("Nothing in a rank reads OMP_NUM_THREADS")).to_be_visible()
            page.evaluate("window.stillTheSamePage = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out of a phone"

            waiting = [trial for trial in store.trials(goes_on.id) if trial.run_id is None]
            while waiting:
                for trial in waiting:
                    world.end(store, session, goes_on.id, trial)
                waiting = world.wanted(store, goes_on.id)
                store.add_trials(goes_on.id, "seed", waiting)
            store.finish_study(goes_on.id, "seed", "completed")
            expect(page.get_by_text("measured 1.00×: too high")).to_be_visible()
            assert page.evaluate("window.stillTheSamePage")
            assert page.get_by_role("button", name="Run this step").count() == 0, "that is the instructor's"
    assert token
