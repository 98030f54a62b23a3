"""A real Chromium that can reach nothing but this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.support import need

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    need(os.path.exists(CHROMIUM), f"{CHROMIUM} (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium: Browser) -> Iterator[NewPage]:
    """`new_page()` is a browser of somebody else each time; a request to the outside or an error of a script fails the
    test."""
    outside: list[str] = []
    errors: list[str] = []
    contexts = []

    def only_here(route: Route) -> None:
        if route.request.url.startswith(("http://127.0.0.1", "data:", "blob:")):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    def make(width: int = 1440, height: int = 900) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height})
        context.route("**/*", only_here)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert outside == []
    assert errors == []
