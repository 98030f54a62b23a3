"""A real class in small: a real session, a real Chromium, and k-means from the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.dashboard import served
from tests.browser.conftest import Class, NewPage, join
from tests.support import limit, until
from tests.web import seed
from workshop.core.placement import Placement
from workshop.sessions import client
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real

# How many colours a picture has, counted by the browser that shows it.
COLOURS = """image => {
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const bytes = context.getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let at = 0; at < bytes.length; at += 4) seen.add(bytes[at] << 16 | bytes[at + 1] << 8 | bytes[at + 2]);
  return seen.size;
}"""


def number(page: Page, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(value)
    field.press("Tab")


def inertia(page: Page) -> tuple[int, float]:
    """How many points the curve has, and its newest value."""
    curve = page.locator("[data-card=inertia] .ws-figure")
    points, last = curve.get_attribute("data-points"), curve.get_attribute("data-last")
    return int(points or 0), float(last or "nan")


def test_kmeans_from_the_page(workshop: Class, new_page: NewPage) -> None:
    phone = new_page(390, 844)
    join(phone, workshop, "<i>Ada</i>")
    page = new_page()
    page.goto(f"{workshop.url}/?token={workshop.token}")
    assert "token" not in page.url
    page.get_by_role("link", name="Start a run").click()
    start = page.get_by_role("button", name="Start the run")
    start.wait_for()
    number(page, "Clusters", "8")
    number(page, "Pace [s]", "3")
    start.click()

    # The ranks, on the machine, while the run goes on.
    live = page.locator(".ws[data-status]")
    live.wait_for()
    expect(page).to_have_url(re.compile("run="))
    page.locator("#placement > summary").click()
    ranks = page.locator(".ws-machine .ws-rank")
    expect(ranks).to_have_text(["rank 0", "rank 1"])
    expect(page.locator("[data-card=machine] .ws-figure")).to_contain_text("rank 1")

    # Inertia falls live: more and more points, lower and lower, without a reload.
    page.evaluate("window.stillTheSamePage = true")
    page.locator("#learning > summary").click(timeout=limit(90) * 1000)  # the first iteration compiles
    seen = [inertia(page)]
    while len(seen) < 4:
        points, _ = seen[-1]
        until(lambda points=points: inertia(page)[0] > points, 60, "another iteration")
        assert live.get_attribute("data-status") == "running"
        seen.append(inertia(page))
    assert [value for _, value in seen] == sorted((value for _, value in seen), reverse=True)
    assert seen[-1][1] < seen[0][1]
    expect(page.get_by_alt_text("So far")).to_be_visible()
    assert page.evaluate("window.stillTheSamePage")

    # Somebody else opens the link while it goes on, on a phone.
    phone.goto(page.url)
    phone.locator(".ws[data-status=running]").wait_for()
    assert phone.get_by_role("button", name="Cancel", exact=True).count() == 0, "it is not Ada's run"
    assert page.get_by_role("button", name="Cancel", exact=True).count() == 1
    assert phone.locator("i", has_text="Ada").count() == 0, "a nickname is text"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390

    # The end: the quantised photo with at most 8 colours, the verdict, the palette.
    page.locator(".ws[data-status=completed]").wait_for(timeout=limit(120) * 1000)
    after = page.get_by_alt_text("After")
    until(lambda: after.evaluate("image => image.naturalWidth") == 640, 60, "the quantised photo in full size")
    assert 2 <= after.evaluate(COLOURS) <= 8
    before = page.get_by_alt_text("Before")
    until(lambda: before.evaluate("image => image.naturalWidth"), 30, "the photo as it was")
    assert before.evaluate(COLOURS) > 1000
    expect(page.locator("[data-card=why]")).to_contain_text("Why")
    expect(page.locator("[data-card=photo] .ws-figure svg").first).to_be_visible()
    (run,) = workshop.store.runs(session_id=workshop.session.id)
    assert run.params["clusters"] == 8
    assert inertia(page)[1] == pytest.approx(workshop.store.series(run.id, "inertia")[0].means[-1])

    # A browser that was closed and opened again shows the same run.
    address, shown = page.url, inertia(page)
    page.close()
    again = new_page()
    join(again, workshop, "Bo", address.removeprefix(workshop.url))
    again.locator(".ws[data-status=completed]").wait_for()
    until(lambda: inertia(again) == shown, 30, "the same curve")


def test_cancel_queue_and_errors(workshop: Class, new_page: NewPage) -> None:
    store = workshop.store
    page = new_page()
    page.goto(f"{workshop.url}/?token={workshop.token}")
    long = client.submit(store, workshop.session, "kmeans", {"clusters": 64, "pace": 0.5, "tolerance": 0})
    waits = client.submit(store, workshop.session, "kmeans", {"clusters": 4})
    page.goto(f"{workshop.url}/session")
    queue = page.locator(".ws-runs").first
    expect(queue).to_contain_text(f"Run {long.id}")
    expect(queue).to_contain_text("turn 1")
    queue.get_by_role("link", name=f"Run {long.id}").click()
    page.locator(".ws[data-status=running]").wait_for()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.locator(".ws[data-status=cancelled]").wait_for()
    assert client.wait(store, waits.id, timeout=limit(120)).status == "completed"

    # An error on a rank: who, where, what, and the traceback behind a fold.
    refused = store.submit(workshop.session.id, "kmeans", {"image": "china"}, Placement(ranks=2).as_json())
    failed = client.wait(store, refused.id, timeout=limit(60))
    assert failed.status == "failed", "it came without its photo"
    page.goto(f"{workshop.url}/run?run={refused.id}")
    error = page.locator(".ws-error")
    expect(error).to_contain_text("Rank")
    error.locator("summary").click()
    expect(error.locator("pre")).to_contain_text("photo")


def test_an_open_page_outlives_the_dashboard(workshop_home: Path, new_page: NewPage) -> None:
    with Store.open() as store, seed.alive(store, "class") as session:
        token, _ = new_secrets(store)
        run = seed.running(store, session, steps=3)
        page = new_page()
        with served() as (process, port):
            page.goto(f"http://127.0.0.1:{port}/?token={token}")
            page.goto(f"http://127.0.0.1:{port}/run?run={run.id}")
            page.locator("#learning > summary").click()
            until(lambda: inertia(page)[0] == 3, 30, "the first three points")
            page.evaluate("window.stillTheSamePage = true")
            process.kill()
            expect(page.get_by_text("Reconnecting to the dashboard")).to_be_visible()
        seed.tell(store, run.id, 4, 6)
        with served(port):
            until(lambda: inertia(page)[0] == 6, 60, "the page to go on")
            assert page.evaluate("window.stillTheSamePage")
            seed.tell(store, run.id, 7, 7)
            until(lambda: inertia(page)[0] == 7, 30, "the page to be live again")
            expect(page.get_by_text("Reconnecting to the dashboard")).to_be_hidden()
