"""The bench of viewers, in small: real browsers' requests against a real server and a real run."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.bench import viewers

pytestmark = pytest.mark.real


@pytest.mark.exhaustive
def test_a_few_viewers_see_changes(workshop_home: Path) -> None:
    document = viewers.run(viewers=5, seconds=4)
    assert document["bench"] == "viewers"
    value = {row["name"]: row["value"] for row in document["rows"]}
    assert value["viewers"] == 5
    assert value["changes_seen_by_each"] >= 1
    assert 0 < value["delay_median_seconds"] <= value["delay_p95_seconds"] <= value["delay_max_seconds"]
    assert value["server_core_share"] > 0
    assert value["pictures_fetched"] > 0
