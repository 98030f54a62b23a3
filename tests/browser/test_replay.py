"""The recording that ships, in a real Chromium: every page of it shows something and says that it was recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.dashboard import served
from tests.browser.accessibility import in_both_colours
from tests.browser.conftest import NewPage
from tests.support import limit, starts_processes
from workshop.cli import record
from workshop.registry import workloads
from workshop.store.store import Store
from workshop.study.kinds import any_kind
from workshop.web.auth import new_secrets

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(600))]
PATIENCE = limit(60) * 1000  # milliseconds
# Workloads that are younger than the recording.
LATER = (
    "one-processor",
    "regression",
    "resnet",
    "parallel",
    "training-step",
    "quantisation",
    "unet",
    "elastic",
    "hang",
)
OPENFL = "openfl"  # needs an environment of its own, which whoever records may not have
BANNER = "nothing runs here"


@dataclass
class Shown:
    store: Store
    url: str
    token: str
    code: str


@pytest.fixture(scope="module")
@starts_processes
def shown() -> Iterator[Shown]:
    before = os.environ.get("WORKSHOP_OFFLINE")
    os.environ["WORKSHOP_OFFLINE"] = "1"
    try:
        with record.replayed(record.shipped()) as store, served() as (_, port):
            token, code = new_secrets(store)
            yield Shown(store, f"http://127.0.0.1:{port}", token, code)
    finally:
        os.environ.pop("WORKSHOP_OFFLINE")
        if before is not None:
            os.environ["WORKSHOP_OFFLINE"] = before


def enter(page: Page, shown: Shown) -> None:
    page.goto(f"{shown.url}/?token={shown.token}")
    opened(page)


def opened(page: Page) -> None:
    """The page is there, says that it is recorded, and no part of it went wrong."""
    expect(page.get_by_text(BANNER).first).to_be_visible(timeout=PATIENCE)
    expect(page.locator('[data-testid="stHeader"] [data-testid="stStatusWidget"]')).to_have_count(0, timeout=PATIENCE)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    expect(page.get_by_text("can't be shown")).to_have_count(0)
    # A figure finds its width after it was drawn.
    page.wait_for_function("document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_the_recording_is_small_and_has_everything(shown: Shown) -> None:
    assert record.shipped().stat().st_size < 8 << 20
    runs = shown.store.runs(limit=None)
    assert {run.workload for run in runs} >= workloads().keys() - {OPENFL, *LATER}
    assert {"completed"} <= {run.status for run in runs}
    assert {study.kind for study in shown.store.studies()} >= {"scaling", "grid", "ways", "path"}
    assert not any(study.state in ("running", "interrupted") for study in shown.store.studies())
    assert len({one.learner for one in shown.store.progress()}) > 4
    assert all(name.startswith("learner-") for name in {run.submitted_by for run in runs} - {"", "Instructor"})


@pytest.mark.exhaustive
def test_runs_have_the_results_that_their_workloads_name(shown: Shown) -> None:
    for name in workloads().keys() - {OPENFL, *LATER}:
        told = [run.metrics for run in shown.store.runs(workload=name, status="completed", limit=None)]
        assert told and set(workloads()[name].results) <= set().union(*told), name


@pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.exhaustive)])
def test_every_page_opens(shown: Shown, new_page: NewPage, width: int) -> None:
    page = new_page(width=width)
    enter(page, shown)
    for path, there in (
        ("/", "See what else can be run"),
        ("/explore", "Where does an MPI put"),
        ("/labs", "Distributed k-means"),
        ("/session", "Recorded: this is how it was left."),
        ("/placement", "Where the ranks would run"),
        ("/run", "Watch one of the latest"),
        ("/studies", "Download as HTML"),
        ("/tuning", "Profile the start"),
        ("/federated", "Attack and protect"),
        ("/quizzes", "Results"),
        ("/progress", "learner-4"),
        ("/history", "Pick one run"),
    ):
        page.goto(f"{shown.url}{path}")
        expect(page.get_by_text(there).filter(visible=True).first).to_be_visible(timeout=PATIENCE)
        opened(page)
        for started in ("Start the run", "Launch", "Begin the round", "Run this step", "Reset it"):
            expect(page.get_by_role("button", name=started, exact=True)).to_have_count(0)
        assert in_both_colours(page) == [], path


def test_a_run_plays_pauses_and_goes_to_a_moment(shown: Shown, new_page: NewPage) -> None:
    page = new_page()
    enter(page, shown)
    runs = shown.store.runs(workload="kmeans", status="completed", limit=None)
    run = max(runs, key=lambda run: run.finished_at - run.started_at)
    page.goto(f"{shown.url}/run?run={run.id}")
    inertia = page.locator("[data-card=inertia] .ws-figure")
    page.locator("#learning > summary").click(timeout=PATIENCE)
    expect(inertia).to_be_visible(timeout=PATIENCE)
    every_step = inertia.get_attribute("data-points")
    page.get_by_role("button", name="Replay").click()
    controls = page.get_by_role("group", name="Replay")
    slider = controls.get_by_role("slider")
    expect(inertia).to_have_count(0, timeout=PATIENCE)  # nothing was computed yet
    controls.get_by_label("Speed").select_option("0.5")
    controls.get_by_role("button", name="Play").click()
    expect(slider).not_to_have_value("0")
    controls.get_by_role("button", name="Pause").click()
    moment = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value(str(int(moment) + 1))
    controls.get_by_label("Speed").select_option("16")
    controls.get_by_role("button", name="Play").click()
    expect(controls.get_by_role("button", name="Play")).to_be_visible(timeout=PATIENCE)  # it has come to the end
    expect(inertia).to_have_attribute("data-points", every_step, timeout=PATIENCE)
    opened(page)


@pytest.mark.exhaustive
def test_every_workload_has_a_run_with_its_figures(shown: Shown, new_page: NewPage) -> None:
    page = new_page()
    enter(page, shown)
    for workload in sorted({run.workload for run in shown.store.runs(limit=None)}):
        run = next(run for run in shown.store.runs(workload=workload, limit=None) if run.status == "completed")
        page.goto(f"{shown.url}/run?run={run.id}")
        expect(page.get_by_text("completed").first).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENCE)
        expect(page.get_by_text("Verdict").first).to_be_visible()
        opened(page)


@pytest.mark.exhaustive
def test_studies_have_their_figures(shown: Shown, new_page: NewPage) -> None:
    page = new_page()
    enter(page, shown)
    for study in shown.store.studies():
        page.goto(f"{shown.url}/studies?study={study.id}")
        if any_kind(study.kind).view:
            page.get_by_role("button", name="Show me without guessing").click(timeout=PATIENCE)
        expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENCE)
        opened(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as HTML").click()
    assert BANNER in Path(waiting.value.path()).read_text()
    # What the class guessed, behind one's own guess.
    page.goto(f"{shown.url}/tuning?step=b")
    page.get_by_role("button", name="Show me without guessing").click(timeout=PATIENCE)
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("What the class guessed (6)")).to_be_visible(timeout=PATIENCE)
    page.goto(f"{shown.url}/federated")
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENCE)
    opened(page)


def test_quizzes_have_their_results(shown: Shown, new_page: NewPage) -> None:
    page = new_page()
    enter(page, shown)
    (round_,) = shown.store.rounds("live")[:1]
    page.goto(f"{shown.url}/quiz/{round_.id}/results")
    expect(page.get_by_text(BANNER)).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Results")
    assert page.locator("meter").count() > 5
    expect(page.get_by_text("learner-1", exact=True).first).to_be_visible()


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.exhaustive)])
def test_each_place_takes_one_press(shown: Shown, new_page: NewPage, width: int) -> None:
    page = new_page(width, 844)
    enter(page, shown)
    for place in ("Labs", "Run", "Quiz", "Class", "Explore", "Home"):
        link = page.locator(".st-key-places").get_by_role("link", name=place, exact=False)
        expect(link).to_be_in_viewport(ratio=1)
        link.click()
        expect(page.locator(f".st-key-place-{place.lower()}-here")).to_be_visible(timeout=PATIENCE)
    boxes = [link.bounding_box() for link in page.locator(".st-key-places a").all()]
    assert all(box and 0 <= box["x"] <= box["x"] + box["width"] <= width for box in boxes)
    assert width > 390 or all(box and box["height"] >= 44 and box["width"] >= 44 for box in boxes)


@pytest.mark.exhaustive
def test_a_learner_looks_on_a_phone(shown: Shown, new_page: NewPage) -> None:
    page = new_page(width=390, height=844)
    page.goto(f"{shown.url}/join?code={shown.code}")
    expect(page.get_by_text(BANNER)).to_be_visible()
    page.get_by_label("Nickname").fill("Ada")
    page.get_by_role("button", name="Come in").click()
    page.wait_for_url(lambda url: "/join" not in url, wait_until="commit")  # where they come from has the banner, too
    opened(page)
    run = next(run for run in shown.store.runs(workload="kmeans", limit=None) if run.status == "completed")
    page.goto(f"{shown.url}/run?run={run.id}")
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENCE)
    opened(page)
