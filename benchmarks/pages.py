"""Seconds until each page of the dashboard has its content, in a browser, for the instructor and for a learner; how
much moves after that, and what a first visit loads.

The dashboard shows the recorded class, so that every page has content. Each page is opened once before it is measured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import Document, document, interleaved, machine, row
from benchmarks.dashboard import HOST, served
from workshop import registry
from workshop.cli import record
from workshop.core.errors import BadInput
from workshop.web.auth import new_secrets

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LONGEST = 60_000.0  # milliseconds for a page
READY = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
  && document.querySelector('.st-key-heading')"""
# A page is drawn once no element has come or gone for 300 ms; Streamlit draws when its script has ended, too.
DRAWN = """() => new Promise(done => {
  const quiet = () => { observer.disconnect(); done(performance.now()); };
  let timer = setTimeout(quiet, 300);
  const observer = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(quiet, 300); });
  observer.observe(document.body, { childList: true, subtree: true }); })"""
SETTLED = 1000.0  # milliseconds in which a page may still move after it is drawn
SHIFT = """begin => new Promise(done => new PerformanceObserver((list, observer) => { observer.disconnect();
  done(list.getEntries().filter(shift => shift.startTime > begin && !shift.hadRecentInput)
    .reduce((sum, { value }) => sum + value, 0)); })
  .observe({ type: 'layout-shift', buffered: true }) ?? setTimeout(() => done(0), 100))"""
LOADED = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .reduce((sum, { transferSize }) => sum + transferSize, 0)"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def run(repeats: int = 5) -> Document:
    """Open all pages in turns, `repeats` times; returns the document. Raises BadInput without a browser."""
    where = machine(("streamlit", "uvicorn"))
    with record.replayed(record.shipped()) as store, served() as (_, port), _chromium() as browser:
        url, (token, code) = f"http://{HOST}:{port}", new_secrets(store)
        first_visit = _first_visit(browser, f"{url}/?token={token}")
        visitors = {"instructor": _instructor(browser, url, token), "learner": _learner(browser, url, code)}
        turns: dict[str, Callable[[], tuple[float, float, float]]] = {
            f"{page.name} {role}": partial(_open, visitor, f"{url}/{page.name}" if page.name != "home" else url)
            for role, visitor in visitors.items()
            for page in registry.pages()
            if role in page.roles
        }
        results = interleaved(turns, repeats)
    rows = []
    for name, openings in results.items():
        paints, contents, shifts = zip(*openings, strict=True)
        about = {"first_paint": statistics.median(paints), "shift": round(statistics.median(shifts), 3)}
        rows.append(row(name, list(contents), "s", **about))
    ratios = {
        "slowest_seconds": max(line["value"] for line in rows),
        "largest_shift": max(line["shift"] for line in rows),
        "first_visit_megabytes": first_visit / 1e6,
    }
    return document(where, rows, ratios)


@contextmanager
def _chromium() -> Iterator[Browser]:
    """Debian's Chromium. Raises BadInput where it or Playwright is missing."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        raise BadInput("This bench needs Playwright; `make test-environment` installs it.") from None
    if not CHROMIUM.exists():
        raise BadInput(f"This bench needs {CHROMIUM}; apt-get install chromium installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def _instructor(browser: Browser, url: str, token: str) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/?token={token}")
    return page


def _learner(browser: Browser, url: str, code: str) -> Page:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{url}/join?code={code}")
    page.get_by_label("Nickname").fill("Learner")
    page.get_by_role("button", name="Come in").click()
    page.wait_for_function(READY, timeout=LONGEST)
    return page


def _first_visit(browser: Browser, url: str) -> float:
    """The bytes that a browser without a cache loads for the instructor's Home."""
    page = browser.new_context().new_page()
    page.goto(url)
    page.wait_for_function(READY, timeout=LONGEST)
    page.wait_for_load_state("networkidle")
    return float(page.evaluate(LOADED))


def _open(page: Page, address: str) -> tuple[float, float, float]:
    """Open a page; returns the seconds to its first paint and to its whole content, and how much of it moved
    after it was drawn (the layout shift of web vitals: 0.1 is noticed)."""
    began = time.perf_counter()
    page.goto(address, wait_until="commit", timeout=LONGEST)
    page.wait_for_function(READY, timeout=LONGEST)
    content = time.perf_counter() - began
    drawn, paint = page.evaluate(DRAWN), page.evaluate(PAINT)
    page.wait_for_timeout(SETTLED)
    return (content if paint is None else paint / 1000), content, float(page.evaluate(SHIFT, drawn))
