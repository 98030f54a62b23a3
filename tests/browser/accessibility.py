"""Whether people with a keyboard, a screen reader or weak eyes can use a page: what axe finds by the rules of WCAG 2.2,
levels A and AA."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})"


def violations(page: Page) -> list[str]:
    """What axe finds on a page as it is shown: the rule, and the first element that breaks it."""
    page.evaluate(AXE_SCRIPT)
    results = page.evaluate(RUN, RULES)["violations"]
    return [f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:200]}" for rule in results]
