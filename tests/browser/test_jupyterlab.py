"""JupyterLab in a real Chromium, from `workshop up` to a learner's first cell on all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.first_cell import PATIENCE, open_lab, ranks_answer, run_to_first_ranks, up
from tests.conftest import leftovers
from tests.support import limit, starts_processes, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(420))]


@pytest.fixture
@starts_processes
def links(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What `workshop up` prints."""
    monkeypatch.delenv("WORKSHOP_NOTEBOOKS", raising=False)
    with up() as printed:
        yield printed
    until(lambda: not leftovers(workshop_home), 40, "everything to end")


def test_a_learner_opens_it_for_the_first_time(links: dict[str, str], new_page: NewPage, workshop_home: Path) -> None:
    page = new_page()
    open_lab(page, links["jupyterlab"])
    assert "token" not in page.url

    # Lab 0 beside the dashboard, which has let them in and shows the session.
    expect(page.locator(".lm-TabBar-tab", has_text="0-first.ipynb")).to_be_visible(timeout=PATIENCE)
    frame = page.frame_locator("iframe")
    expect(frame.get_by_text("Ranks on the machine")).to_be_visible(timeout=PATIENCE)
    expect(frame.get_by_role("link", name="Class").first).to_be_visible(timeout=PATIENCE)  # the instructor's place
    assert [one.url for one in page.frames[1:]] == [f"{links['dashboard']}/session"]  # the ticket is used up and gone

    ranks_answer(run_to_first_ranks(page))

    # A quiz in a cell of its own; keys that are pressed in it are no commands of JupyterLab, which would delete a cell.
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("session.quiz('first', everything=True)")
    page.keyboard.press("Shift+Enter")
    quiz = page.locator(".in-cell")
    quiz.get_by_text("Begin").click(timeout=PATIENCE)
    cells = page.locator(".jp-Cell").count()
    quiz.locator("label.option").first.click(timeout=PATIENCE)
    page.keyboard.type("dd")
    quiz.locator("button.send").click()
    expect(quiz.locator(".judged")).to_contain_text("Thank you for your answer", timeout=PATIENCE)
    quiz.get_by_text("Next").click()
    quiz.locator("input.typed").fill("3", timeout=PATIENCE)
    page.keyboard.type("dd")
    page.keyboard.press("Enter")
    expect(quiz.locator(".status")).to_contain_text("is not in lines", timeout=PATIENCE)
    assert page.locator(".jp-Cell").count() == cells

    # Tiles for the dashboard and each lab, and they open.
    page.keyboard.press("Control+Shift+L")
    tiles = page.locator(".jp-LauncherCard[data-category=Workshop]")
    expect(tiles).to_have_count(15, timeout=PATIENCE)
    assert tiles.locator(".jp-LauncherCard-label").all_inner_texts()[:2] == ["Dashboard", "First contact"]
    tiles.filter(has_text="Distributed k-means").click()
    expect(page.locator(".lm-TabBar-tab", has_text="1-kmeans.ipynb")).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("Control+Shift+L")
    expect(tiles).to_have_count(15, timeout=PATIENCE)
    tiles.filter(has_text="Dashboard").click()  # the one that is open comes to the front
    assert page.locator("iframe").count() == 1

    # The panel of ipyparallel offers a cluster.
    page.locator("[title='IPython Parallel']").click()
    expect(page.get_by_text("Number of engines: 2")).to_be_visible(timeout=PATIENCE)

    # What they have arranged is there again.
    workspace = workshop_home / "jupyter" / "workspaces" / "default-37a8.jupyterlab-workspace"
    until(lambda: "1-kmeans.ipynb" in workspace.read_text() or page.wait_for_timeout(100), 60, "the layout to be kept")
    page.goto(links["jupyterlab"].partition("?")[0])
    expect(page.locator(".lm-TabBar-tab", has_text="1-kmeans.ipynb")).to_be_visible(timeout=PATIENCE)
