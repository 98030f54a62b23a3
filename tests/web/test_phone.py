"""Pages on a phone, in a real Chromium: words that one can read, and nothing that lies over what one chooses by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import started
from tests.report.analysis import cases
from tests.support import limit, starts_processes
from tests.web import seed
from tests.web.dashboard import Dashboard
from workshop.store.records import SessionRecord

pytestmark = pytest.mark.real
READABLE = 8  # pixels of the smallest words in a picture


@pytest.fixture
def phone(dashboard: Dashboard) -> Iterator[Page]:
    with started() as browser:
        size = {"width": 390, "height": 844}
        context = browser.new_context(
            viewport=size, has_touch=True, is_mobile=True, base_url=f"http://127.0.0.1:{dashboard.port}"
        )
        page = context.new_page()
        page.goto(f"/?token={dashboard.token}")
        yield page


@pytest.fixture
@starts_processes
def up(dashboard: Dashboard) -> Iterator[SessionRecord]:
    with seed.alive(dashboard.store, "class") as made:
        yield made


@pytest.mark.parametrize("ranks", [2, 8])
def test_the_machine_can_be_read_and_keeps_to_its_card(
    dashboard: Dashboard, up: SessionRecord, phone: Page, ranks: int
) -> None:
    bound = cases.rank_map(*([unit] for unit in range(ranks)))
    dashboard.store.update_session(up.id, rank_map=bound, machine=cases.machine(ranks))
    phone.goto("/session?session=class")
    words = phone.locator("[data-card=machine] .annotation-text")
    expect(words.filter(has_text=f"rank {ranks - 1}")).to_have_count(1, timeout=limit(30) * 1000)
    sizes = words.evaluate_all("all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))")
    assert len(sizes) > 2 * ranks and min(sizes) >= READABLE
    units = [box for one in words.filter(has_text="unit").all() if (box := one.bounding_box())]
    apart = [right["x"] - left["x"] - left["width"] for left, right in pairwise(units)]
    assert len(units) == ranks and min(apart) > 0, "words of neighbours lie over each other"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_table_s_buttons_leave_what_one_chooses_by_alone(
    dashboard: Dashboard, up: SessionRecord, phone: Page
) -> None:
    seed.completed(dashboard.store, up)
    phone.goto("/history")
    table = phone.get_by_test_id("stDataFrame")
    expect(table).to_be_visible(timeout=limit(30) * 1000)
    table.tap(position={"x": 150, "y": 60})
    buttons = phone.get_by_test_id("stElementToolbar")
    expect(buttons).to_be_visible()
    who = phone.get_by_test_id("stSelectbox").filter(has_text="Who").bounding_box()
    over = buttons.bounding_box()
    assert who is not None and over is not None
    assert over["y"] >= who["y"] + who["height"]


def test_a_wide_table_of_a_lab_moves_by_itself(phone: Page) -> None:
    phone.goto("/labs?lab=pipelines&further=hybrid&part=2")
    table = phone.locator(".st-key-lab-text table")
    expect(table).to_be_visible(timeout=limit(30) * 1000)
    assert table.evaluate("table => table.scrollWidth > table.clientWidth"), "the table is narrow, so nothing is tested"
    assert phone.locator("[data-testid=stMain]").evaluate("page => page.scrollWidth") <= 390
