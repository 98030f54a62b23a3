"""The bench of pages, in small: a real browser opens every page of the recorded class."""

from __future__ import annotations

import pytest

from tests.support import limit, need
from workshop import registry
from workshop.bench import pages


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.timeout(limit(300))
def test_every_page_is_measured_for_all_who_see_it() -> None:
    need(pages.CHROMIUM.exists(), f"{pages.CHROMIUM} (apt-get install chromium)")
    document = pages.run(repeats=1)
    names = {f"{page.name} {role}" for page in registry.pages() for role in page.roles}
    assert {row["name"] for row in document["rows"]} == names
    assert all(0 < row["first_paint"] <= row["value"] for row in document["rows"])
    assert document["ratios"]["slowest_seconds"] == max(row["value"] for row in document["rows"])
