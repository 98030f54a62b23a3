"""The bench of starts: what it reckons, and one real turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.bench import start


def test_medians_of_seconds_and_of_processor_time() -> None:
    turns = [{kind: (float(number), 10.0 * number) for kind in start.KINDS} for number in (3, 1, 2)]
    rows = {row["name"]: row for row in start.document({"host": "here"}, {"kmeans": turns})["rows"]}
    assert set(rows) == {f"kmeans_{kind}{what}" for kind in start.KINDS for what in ("", "_cpu")}
    assert (rows["kmeans_cold"]["value"], rows["kmeans_cold"]["unit"], rows["kmeans_cold"]["repeats"]) == (2.0, "s", 3)
    assert (rows["kmeans_another_cpu"]["value"], rows["kmeans_another_cpu"]["high"]) == (20.0, 30.0)


@pytest.mark.real
def test_a_turn(workshop_home: Path) -> None:
    document = start.run(repeats=1, names=("kmeans",), warm_up=0)
    rows = {row["name"]: row["value"] for row in document["rows"]}
    assert set(rows) == {f"kmeans_{kind}{what}" for kind in start.KINDS for what in ("", "_cpu")}
    assert min(rows.values()) > 0
    assert rows["kmeans_another_cpu"] > rows["kmeans_warm_cpu"], "other ranks have to start, and they import"
    assert not (workshop_home / "workshop.db").exists(), "the bench is nobody's history"
