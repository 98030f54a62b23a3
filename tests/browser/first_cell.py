"""How long a learner waits, from `workshop up` to the output of lab 0's first cell on all ranks, in a real Chromium.

`python -m tests.browser.first_cell [TIMES]` prints the seconds of each part, as medians, and what they come to. Only on
an idle machine do they say anything.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import started
from tests.sessions.test_up import WORKSHOP
from tests.support import limit
from workshop.core.ports import free_ports

PATIENCE = limit(120) * 1000  # milliseconds


@contextmanager
def up(**variables: str) -> Iterator[dict[str, str]]:
    """The links that `workshop up` prints, and the dashboard's address. It is killed at the end: nets are under it."""
    port, labs = map(str, free_ports(2))
    words = [WORKSHOP, "up", "--port", port, "--lab-port", labs, "--json"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ | variables
    ) as process:
        try:
            text = ""
            while not text.rstrip().endswith("}\n}") and (line := process.stdout.readline()):
                text += line
            answer = json.loads(text)
            yield answer["links"] | {"dashboard": answer["url"]}
        finally:
            process.kill()


def open_lab(page: Page, link: str) -> None:
    """Open JupyterLab, which may still be starting."""
    deadline = time.monotonic() + PATIENCE / 1000
    address = f"{link.partition('/lab')[0]}/api"
    while time.monotonic() < deadline:
        try:
            if page.request.get(address, timeout=PATIENCE).ok:
                break
        except Exception:  # nobody listens there yet
            page.wait_for_timeout(100)
    page.goto(link)
    expect(page.locator(".jp-NotebookPanel")).to_be_visible(timeout=PATIENCE)


def run_to_first_ranks(page: Page) -> Locator:
    """Run the notebook's cells up to its first `%%ranks`; returns that cell."""
    cell = page.locator(".jp-CodeCell", has_text="%%ranks").first
    expect(cell).to_be_visible(timeout=PATIENCE)
    expect(page.locator(".jp-NotebookPanel .jp-Toolbar-kernelName")).to_contain_text("Python 3", timeout=PATIENCE)
    cell.locator(".cm-content").click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Above Selected Cell").click()
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    return cell


def ranks_answer(cell: Locator) -> None:
    """Wait until both ranks have said something below a cell."""
    output = cell.locator(".jp-OutputArea-output")
    for rank in (0, 1):
        expect(output.get_by_text(f"rank {rank} of 2").first).to_be_visible(timeout=PATIENCE)


def measure(chromium: Browser) -> dict[str, float]:
    """Seconds of each part, in a state folder that is new to JupyterLab and to ranks."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        marks = [time.monotonic()]
        with up(WORKSHOP_HOME=folder, WORKSHOP_OFFLINE="1") as links:
            marks.append(time.monotonic())
            page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
            open_lab(page, links["jupyterlab"])
            marks.append(time.monotonic())
            cell = run_to_first_ranks(page)
            above = page.locator(".jp-CodeCell .jp-OutputArea-output").first
            expect(above).to_be_visible(timeout=PATIENCE)
            marks.append(time.monotonic())
            ranks_answer(cell)
            marks.append(time.monotonic())
            page.context.close()
    names = ("until the links", "until the notebook is open", "until the session shows itself", "until ranks answer")
    return dict(zip(names, (after - before for before, after in pairwise(marks)), strict=True))


def main() -> None:
    with started() as chromium:
        measured = [measure(chromium) for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)]
    medians = {name: round(statistics.median(one[name] for one in measured), 1) for name in measured[0]}
    totals = [round(sum(one.values()), 1) for one in measured]
    print(json.dumps({"seconds": medians, "totals": totals, "median": statistics.median(totals)}, indent=2))


if __name__ == "__main__":
    main()
