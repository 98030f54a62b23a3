"""The page of placements in a real Chromium: it composes the workshop's example, and the picture follows what is typed;
then the placement is run, and the prediction held against what happened."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Class, NewPage, join
from tests.support import limit
from workshop.report.figures import theme

pytestmark = pytest.mark.real

EXAMPLE = ["[BB/BB/../..][../../../..]", "[../../../..][BB/BB/../..]"]
# Colour and label of each processing unit of the first picture that has a rank, in reading order.
UNITS = """() => {
  const figure = document.querySelector(".js-plotly-plot");
  if (!figure || !figure.layout || !figure.layout.shapes) return [[], []];  // not drawn yet
  const colours = figure.layout.shapes.map((shape) => shape.fillcolor);
  const labels = figure.layout.annotations.map((note) => note.text.replace(/^<b>rank |<[^>]*>/g, ""));
  return [colours, labels.filter((text) => /^[0-9]+$/.test(text))];
}"""


def shown(page: Page) -> tuple[set[str], list[str]]:
    """The ranks' colours in the picture, and the labels of its units."""
    colours, labels = page.evaluate(UNITS)
    return {colour for colour in colours if colour in theme.RANKS}, labels


def type_command(page: Page, text: str) -> None:
    field = page.get_by_role("textbox", name="Command line")
    field.fill(text)
    field.press("Control+Enter")


def test_compose_the_example_change_the_command_and_run(workshop: Class, new_page: NewPage) -> None:
    page = new_page()
    page.goto(f"{workshop.url}/?token={workshop.token}")
    page.get_by_role("link", name="Explore").first.click()
    page.locator(".st-key-tool-placement").get_by_role("link").click()
    masks = page.locator(".ws table").first
    for mask in EXAMPLE:
        expect(masks).to_contain_text(mask, timeout=limit(60) * 1000)
    page.wait_for_function(f"({UNITS})()[1].length === 24")
    colours, labels = shown(page)
    assert colours == {theme.rank_colour(rank) for rank in range(6)}
    assert labels == [str(rank) for rank in range(6) for _ in range(4)], (
        "each rank has two cores of two hardware threads"
    )

    # What the form sets, the command line has.
    command = page.get_by_role("textbox", name="Command line")
    cores = page.get_by_role("spinbutton", name="Cores per rank")
    cores.fill("4")
    cores.press("Tab")
    expect(masks).to_contain_text("[BB/BB/BB/BB][../../../..]")
    expect(command).to_have_value(re.compile("pe=4"))

    # What is typed as a command, form and picture have.
    type_command(page, "mpirun -n 2 -H hostB:2 --map-by core --bind-to core --frobnicate python train.py")
    expect(masks).to_contain_text("[../BB/../..][../../../..]")
    expect(page.get_by_text("Not understood, so it is not in the form: --frobnicate")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Ranks", exact=True)).to_have_value("2")
    expect(page.get_by_role("textbox", name="Hosts")).to_have_value("hostB:2")
    page.wait_for_function(f"({UNITS})()[1].length === 4")
    colours, labels = shown(page)
    assert (colours, labels) == ({theme.rank_colour(0), theme.rank_colour(1)}, ["0", "0", "1", "1"])

    # Here it runs as predicted.
    machine = page.get_by_role("textbox", name="Machine", exact=True)
    machine.fill("this")
    machine.press("Enter")
    expect(masks).not_to_contain_text("../BB/../..")  # the command line of the other machine is gone
    expect(page.locator("[data-test-script-state=running]")).to_have_count(0)
    type_command(page, "mpirun -n 2 --map-by core --bind-to core python train.py")
    expect(page.get_by_role("textbox", name="Hosts")).to_have_value("")
    page.get_by_role("button", name="Run k-means on this placement").click()
    page.locator(".ws[data-status=completed]").wait_for(timeout=limit(120) * 1000)
    expect(page.locator("[data-card=predicted]")).to_contain_text(
        "Every rank ran where it was meant to.", timeout=limit(30) * 1000
    )


@pytest.mark.exhaustive
def test_a_learner_s_phone_shows_all_of_it(workshop: Class, new_page: NewPage) -> None:
    phone = new_page(390, 844)
    join(phone, workshop, "Ada", "/placement")
    expect(phone.locator(".ws table").first).to_contain_text(EXAMPLE[0], timeout=limit(60) * 1000)
    phone.locator(".js-plotly-plot svg").first.wait_for()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    phone.get_by_role("tab", name="Guided failures").click()
    phone.get_by_text("Two ranks on one core", exact=True).click()
    phone.get_by_role("button", name="Show me without guessing").first.click()
    phone.get_by_role("button", name="Run it").first.click()
    expect(phone.get_by_text("Run 1 · ")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
