"""A real Chromium that can reach nothing but this machine, and a class for it to visit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect, sync_playwright

from benchmarks.dashboard import served
from tests.support import limit, need, starts_processes
from tests.web import seed
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web.auth import new_secrets

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing but this machine is reached
]
NewPage = Callable[..., Page]

expect.set_options(timeout=limit(30) * 1000)  # milliseconds; five seconds are the library's default


@contextmanager
def started() -> Iterator[Browser]:
    """A Chromium, ended afterwards; skips (in CI: fails) where there is none."""
    need(os.path.exists(CHROMIUM), f"{CHROMIUM} (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
@starts_processes
def chromium() -> Iterator[Browser]:
    with started() as browser:
        yield browser


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[NewPage]:
    """`new_page()` is a browser of somebody else each time; a request to the outside or an error of a script fails the
    test."""
    outside: list[str] = []
    errors: list[str] = []
    contexts = []

    # Listening, not routing: Playwright switches the browser's cache off where it routes.
    def only_here(request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1", "data:", "blob:")):
            outside.append(request.url)

    def make(width: int = 1440, height: int = 900) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height})
        context.on("request", only_here)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert outside == []
    assert errors == []


@dataclass
class Class:
    """A session and its dashboard."""

    store: Store
    session: SessionRecord
    url: str
    token: str
    code: str


@pytest.fixture
@starts_processes
def workshop(workshop_home: Path) -> Iterator[Class]:
    """A class whose session has two ranks, and its dashboard."""
    with Store.open() as store:
        token, code = new_secrets(store)
        record, conductor = lifecycle.start_session(store, "class", Placement(ranks=2), attached=True)
        try:
            with served() as (_, port):
                ready = lifecycle.wait_ready(store, record, conductor)
                yield Class(store, ready, f"http://127.0.0.1:{port}", token, code)
        finally:
            lifecycle.end_conductor(conductor)


@pytest.fixture
@starts_processes
def quiet(workshop_home: Path) -> Iterator[Class]:
    """A class whose session has no ranks, and its dashboard."""
    with Store.open() as store, seed.alive(store, "class") as session, served() as (_, port):
        token, code = new_secrets(store)
        yield Class(store, session, f"http://127.0.0.1:{port}", token, code)


def join(page: Page, where: Class, nickname: str, wanted: str = "") -> None:
    """Come in as a learner, and go to the page that was wanted."""
    page.goto(f"{where.url}{wanted or '/join'}")
    page.get_by_label("Class code").fill(where.code)
    page.get_by_label("Nickname").fill(nickname)
    page.get_by_role("button", name="Come in").click()
    page.wait_for_url(lambda url: "/join" not in url, wait_until="commit")  # a page that is opened before isn't let in


def press(button: Locator, shown: Locator) -> None:
    """Press a button whose pop-up closes when the page moves meanwhile, until its content is shown."""
    for _ in range(5):
        button.click(timeout=limit(30) * 1000)
        try:
            expect(shown).to_be_visible(timeout=limit(5) * 1000)
        except AssertionError:
            continue
        return
    raise AssertionError(f"{button} shows nothing, pressed five times")
