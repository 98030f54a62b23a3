"""Three ways side by side from their page, on real ranks: predicted, started, seen live by round, and judged."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Class, NewPage, join
from tests.study.conftest import own_lock
from tests.support import limit, until
from workshop.registry import workload
from workshop.study import runner
from workshop.workloads.federated.study import plan

__all__ = ["own_lock"]
pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(400))]
ROUNDS = 40
SMALL = {
    "data": "digits",
    "model": "dense",
    "partition": "label",
    "images": 600,
    "rounds": ROUNDS,
    "institutions": 3,
    "classes": 4,
}


def marks(page: Page) -> int:
    """How many marks the curves on held-out images have."""
    return page.locator("[class*='st-key-card-plain-'][class*='rounds-held_out'] .points path").count()


def guess(page: Page, behind: str, above: str) -> None:
    fields = page.locator("input[type=number]")
    expect(fields).to_have_count(2)
    for field, value in zip(fields.all(), (behind, above), strict=True):
        field.fill(value)
        field.press("Tab")
    page.get_by_role("button", name="Keep my guess").click()
    expect(page.get_by_text(f"Your guess so far: {behind} points and {above} points")).to_be_visible()


@pytest.mark.exhaustive
def test_two_seeds_are_seen_by_round_and_judged(workshop: Class, new_page: NewPage) -> None:
    store, session = workshop.store, workshop.session
    wanted = plan.checked(store, workload("federated"), SMALL, 2, session)
    study = runner.begin(store, wanted, "Instructor")
    page = new_page()
    page.goto(f"{workshop.url}/?token={workshop.token}")
    page.goto(f"{workshop.url}/federated")
    expect(page.get_by_text("0 of 2 runs")).to_be_visible(timeout=limit(60) * 1000)
    guess(page, "5", "40")
    phone = new_page(390, 844)
    join(phone, workshop, "Lea", "/federated")
    expect(phone.get_by_text("stays hidden until you have guessed")).to_be_visible(timeout=limit(60) * 1000)
    assert phone.get_by_role("button", name="Start it").count() == 0, "that is the instructor's"
    guess(phone, "90", "1")

    page.get_by_role("button", name="Start it").click()
    page.evaluate("window.stillTheSamePage = true")
    expect(page.get_by_text("goes on")).to_be_visible(timeout=limit(120) * 1000)
    seen = [until(lambda: marks(page), 60, "the first round")]
    while len(seen) < 3:
        seen.append(until(lambda: now if (now := marks(page)) > seen[-1] else 0, 60, "another round"))
    assert store.study(study.id).finished_at is None, "rounds were drawn while it went on"

    verdict = page.get_by_role("heading", name=re.compile("^Federated learning .* on held-out images, over 2 seeds"))
    expect(verdict).to_be_visible(timeout=limit(180) * 1000)
    expect(page.get_by_text("2 of 2 runs")).to_be_visible()
    expect(page.get_by_text(re.compile("measured .* points")).first).to_be_visible()
    assert page.evaluate("window.stillTheSamePage")
    assert "10:12598" in (page.locator("[class*='published']").first.text_content() or "")
    expect(phone.get_by_text("You guessed 90 points, measured")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out of a phone"
    by_way = [run.metrics["by_way"] for run in store.runs(study_id=study.id)]
    assert len(by_way) == 2
    assert all(told["alone"]["held_out_score"] < told["federated"]["held_out_score"] for told in by_way)
