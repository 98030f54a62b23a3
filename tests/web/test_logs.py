"""A log that visitors can't fill."""

from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from workshop.web import logs
from workshop.web.logs import LimitedLog


def test_so_much_is_logged_a_minute_and_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(logs.time, "monotonic", lambda: now)
    written = io.StringIO()
    log = logging.Logger("visitors")
    log.addHandler(logging.StreamHandler(LimitedLog(written, a_minute=1000)))
    for _ in range(5000):
        log.error("somebody sent a binary frame")
    assert len(written.getvalue()) < 1200
    assert "what comes within this minute is left out" in written.getvalue()
    now += 61
    log.error("and then all was well")
    *_, told, last = written.getvalue().splitlines()
    assert told.endswith("records of the log were left out: they came too fast.") and int(told.split()[0]) > 4900
    assert last == "and then all was well"


def test_a_long_record_is_shortened_in_the_middle() -> None:
    written = io.StringIO()
    LimitedLog(written).write("first line\n" + "x" * 1_000_000 + "\nlast line\n")
    told = written.getvalue()
    assert len(told) < 9_000 and told.startswith("first line\n") and told.endswith("\nlast line\n")


def test_a_large_file_becomes_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "dashboard.log"
    with open(path, "a") as file:
        log = LimitedLog(file, a_minute=10**9, largest=10_000)
        for number in range(1000):
            log.write(f"record {number:04} of many that somebody caused\n")
    older = tmp_path / "dashboard.log.1"
    assert 0 < path.stat().st_size <= 10_050 and 10_000 < older.stat().st_size <= 10_050
    assert path.read_text().endswith("record 0999 of many that somebody caused\n")
    assert path.read_text().startswith("record ") and "\0" not in path.read_text()
