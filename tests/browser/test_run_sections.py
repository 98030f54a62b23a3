"""The places of a run's page: the star card, folds and the replay.

Forms of runs in a real Chromium: each number is shown whole, also the largest that its field allows.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.conftest import Class, NewPage
from tests.web import training
from workshop.registry import workloads

pytestmark = pytest.mark.real


def test_folds_open_and_a_run_is_replayed(quiet: Class, new_page: NewPage) -> None:
    store, session = quiet.store, quiet.session
    run = training.completed(store, session)
    page = new_page()
    page.goto(f"{quiet.url}/?token={quiet.token}")
    page.goto(f"{quiet.url}/run?run={run.id}")
    expect(page.locator("[data-card=loss] svg").first).to_be_visible()
    expect(page.locator("[data-card=timeline]")).not_to_be_visible()
    page.locator("#time > summary").click()
    expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
    store.put_artifact(run.id, "other.txt", "text/plain", b"more")
    page.locator("#files > summary").click()
    expect(page.locator("#files")).to_contain_text("other.txt")
    expect(page.locator("#time")).to_have_attribute("open", "")
    page.locator("#why > summary").click()
    expect(page.locator("[data-card=why]")).to_contain_text("Next")
    assert violations(page) == []
    page.get_by_role("button", name="Replay").click()
    controls = page.get_by_role("group", name="Replay")
    slider = controls.get_by_role("slider", name="Time since the start of the run")
    expect(page.locator("[data-card=timeline]")).to_have_count(0)  # its file came at the end
    assert violations(page) == []
    slider.focus()
    page.keyboard.press("End")
    expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
    controls.get_by_role("button", name="Play").click()
    expect(controls.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Replay").click()
    expect(controls).not_to_be_visible()
    expect(page.locator("[data-card=timeline] svg").first).to_be_visible()
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto(f"{quiet.url}/run?run={run.id}&projector=1")
    expect(page.locator("[data-card=loss] svg").first).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    assert violations(page) == []


WIDTHS = (1440, 1024, 390)
# The visible number fields that cut the largest number that each allows: a label with the number, and two widths.
CUT = """() => [...document.querySelectorAll('input[type=number]')].flatMap((input) => {
  if (!input.clientWidth) return [];
  const before = input.value;
  const limited = input.max && Number(input.max) < 1e9;
  input.value = limited ? input.max : input.step === 'any' ? '0.000123456' : '123456789';
  const widths = [`${input.ariaLabel}: ${input.value}`, input.scrollWidth, input.clientWidth];
  input.value = before;
  return widths[1] > widths[2] ? [widths] : [];
})"""


@pytest.mark.exhaustive
def test_no_number_is_cut(quiet: Class, new_page: NewPage) -> None:
    page = new_page()
    page.goto(f"{quiet.url}/?token={quiet.token}")
    for name in (name for name, workload in workloads().items() if not workload.lacks()):
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})
        page.goto(f"{quiet.url}/run?workload={name}")
        expect(page.get_by_role("button", name="Start the run")).to_be_visible()
        page.locator("details:not([open]) > summary").evaluate_all("folds => folds.forEach((fold) => fold.click())")
        expect(page.get_by_role("spinbutton", name="Cores per rank")).to_be_visible()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(CUT) == [], f"{name}, {width} pixels"
