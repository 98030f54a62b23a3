"""A log that stays small."""

from __future__ import annotations

import io
from pathlib import Path

from workshop.web.logs import LimitedLog


def test_a_long_record_is_shortened_in_the_middle() -> None:
    written = io.StringIO()
    LimitedLog(written).write("first line\n" + "x" * 1_000_000 + "\nlast line\n")
    told = written.getvalue()
    assert len(told) < 9_000 and told.startswith("first line\n") and told.endswith("\nlast line\n")


def test_a_large_file_becomes_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.log"
    with open(path, "a") as file:
        log = LimitedLog(file, largest=10_000)
        for number in range(1000):
            log.write(f"record {number:04} of many that somebody caused\n")
    older = tmp_path / "dashboard.log.1"
    assert 0 < path.stat().st_size <= 10_050 and 10_000 < older.stat().st_size <= 10_050
    assert path.read_text().endswith("record 0999 of many that somebody caused\n")
    assert path.read_text().startswith("record ") and "\0" not in path.read_text()
