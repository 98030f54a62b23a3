"""Whether people with a keyboard, a screen reader or weak eyes can use a page: what axe finds by the rules of WCAG 2.2,
levels A and AA."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})"


def violations(page: Page) -> list[str]:
    """What axe finds on a page as it is shown: the rule, and the first element that breaks it."""
    page.evaluate(AXE_SCRIPT)
    results = page.evaluate(RUN, RULES)["violations"]
    return [f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:200]}" for rule in results]


def in_both_colours(page: Page) -> list[str]:
    """What axe finds on a page in light and in dark colours, which follow the system."""
    light = violations(page)
    page.emulate_media(color_scheme="dark")
    if page.locator(".stApp").count():
        expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    dark = [f"dark: {violation}" for violation in violations(page)]
    page.emulate_media(color_scheme="light")
    return light + dark
