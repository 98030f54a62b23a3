"""The class's page in a real browser: readable on a laptop, a projector and a phone, live, the instructor only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from benchmarks.dashboard import served
from tests import classroom
from tests.browser.conftest import NewPage, press
from tests.conftest import leftovers
from tests.support import limit, starts_processes
from tests.web.dashboard import Dashboard
from workshop.store.store import Store

pytestmark = pytest.mark.real
LEARNERS = 40
WAIT = limit(30) * 1000  # milliseconds


@pytest.fixture(scope="module")
@starts_processes
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A dashboard, and a class in the middle of its labs."""
    home = tmp_path_factory.mktemp("class") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        patch.delenv("WORKSHOP_CLASS_NOTEBOOKS", raising=False)
        with Store.open() as store, served() as (process, port):
            classroom.fill(store, LEARNERS)
            yield Dashboard(store, process, port)
        assert not leftovers(home)


def visit(page: Page, where: Dashboard, path: str = "/progress") -> None:
    """Come in as the instructor, and go to the page."""
    here = f"http://127.0.0.1:{where.port}"
    page.goto(f"{here}/?token={where.token}")
    page.goto(f"{here}{path}")


def join(page: Page, where: Dashboard, nickname: str) -> None:
    """Come in as a learner."""
    page.goto(f"http://127.0.0.1:{where.port}/join")
    page.get_by_label("Class code").fill(where.code)
    page.get_by_label("Nickname").fill(nickname)
    page.get_by_role("button", name="Come in").click()
    page.wait_for_url(lambda url: "/join" not in url, wait_until="commit")  # they are let in


@pytest.mark.parametrize(
    ("width", "height"), [(1440, 900), pytest.param(1920, 1080, marks=pytest.mark.exhaustive), (390, 844)]
)
def test_everybody_can_be_read(new_page: NewPage, dashboard: Dashboard, width: int, height: int) -> None:
    page = new_page(width=width, height=height)
    visit(page, dashboard)
    grid = page.locator(".ws-class").first
    expect(grid.locator("tbody tr")).to_have_count(LEARNERS, timeout=WAIT)
    stuck = page.locator(".ws-stuck")
    expect(stuck.get_by_role("heading")).to_have_text(f"Stuck: {stuck.locator('article').count()}")
    hint = stuck.locator("article", has_text="partial in lab 1 (kmeans)").locator(".ws-hint")
    expect(hint).to_contain_text("Some labels have <b>no sum</b>")
    names = grid.locator("tbody tr td:first-child").all_inner_texts()
    assert set(names) == set(classroom.names(LEARNERS))
    assert names[: stuck.locator("article").count()] == stuck.locator("article bdi > a").all_inner_texts()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    letters = grid.locator("tbody a").first.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
    assert letters >= 16, "as large as the other live pages'"
    marks = grid.locator(".ws-mark-right")
    first = marks.first
    assert first.get_attribute("aria-label") == "whoami: right (2 checks)"
    assert first.is_visible() == (width > 640), "a phone has numbers instead"
    expect(page.locator(".ws-others")).to_contain_text("only-quizzes")


def test_a_check_is_seen_at_once(new_page: NewPage, dashboard: Dashboard) -> None:
    page = new_page()
    store = dashboard.store
    visit(page, dashboard)
    expect(page.locator(".ws-class tbody tr").first).to_be_visible(timeout=WAIT)
    name = "live <script>alert(1)</script>"
    store.keep_opened(name, "first")
    row = page.locator(".ws-class tbody tr", has_text=name)
    expect(row).to_have_count(1, timeout=WAIT)
    expect(row.locator(".ws-mark-none")).to_have_count(3)
    store.keep_check(name, "first", "whoami", "right", "")
    expect(row.locator(".ws-mark-right")).to_have_count(1, timeout=WAIT)
    for _ in range(3):
        store.keep_check(name, "first", "mine", "error", "NameError: <i>x</i>")
    expect(page.locator(".ws-stuck article", has_text=name)).to_contain_text("ended in an error", timeout=WAIT)
    store.forget_progress(name)
    expect(row).to_have_count(0, timeout=WAIT)


def test_one_learner_and_beginning_anew(new_page: NewPage, dashboard: Dashboard) -> None:
    page = new_page()
    store, name = dashboard.store, "שרה <b>לוי</b> ?&#"
    classroom.keep(
        store,
        classroom.opened(name, "first"),
        classroom.wrong(name, "first", "squares", 3, said="<img src=x onerror=alert(1)>"),
        classroom.predicted(name, "first", "speed", guess="1 < 2", measured=1.62),
        classroom.right(name, "kmeans", "shard"),
    )
    visit(page, dashboard)
    page.locator(".ws-class a", has_text=name).click(timeout=WAIT)
    labs = page.locator("[class*=st-key-card-]", has=page.locator("h3"))
    expect(labs).to_have_count(2, timeout=WAIT)
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(labs.first.locator("tr", has_text="squares")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(labs.first.locator("tbody tr", has_text="speed")).to_have_text("speed1 < 21.62")
    page.get_by_text("Let them begin anew").click()
    press(page.get_by_role("button", name="Begin anew"), page.get_by_text("This deletes 4 records of"))
    page.get_by_role("button", name="Yes, let them begin anew").click(timeout=WAIT)
    expect(page.get_by_text("starts again in all labs")).to_be_visible(timeout=WAIT)
    expect(page.get_by_text("Nothing is known of this learner.")).to_be_visible(timeout=WAIT)
    assert store.progress(name) == []


def test_the_class_is_downloaded(new_page: NewPage, dashboard: Dashboard) -> None:
    page = new_page()
    visit(page, dashboard)
    link = page.get_by_role("link", name="Download as CSV")
    expect(link).to_be_visible(timeout=WAIT)
    with page.expect_download() as started:
        link.click()
    assert started.value.suggested_filename == "class.csv"
    text = started.value.path().read_text(encoding="utf-8-sig")
    assert text.startswith("learner,lab,number,") and "learner-01" in text and "'=HYPERLINK(1)" in text


def test_learners_have_no_such_page(new_page: NewPage, dashboard: Dashboard) -> None:
    page = new_page(width=390, height=844)
    here = f"http://127.0.0.1:{dashboard.port}"
    join(page, dashboard, "learner-01")
    page.goto(f"{here}/progress?learner=learner-02")
    expect(page.get_by_role("heading", name="Your next step")).to_be_visible(timeout=WAIT)
    expect(page.get_by_text("learner-02")).to_have_count(0)
