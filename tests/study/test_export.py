"""Studies as files: one page that needs nothing else, and a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.study.cards import seed
from tests.web import seed as class_seed
from workshop.core.errors import BadInput
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study import export

NASTY = "<script>alert(1)</script>"


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


@pytest.fixture
def study(store: Store, session: SessionRecord) -> StudyRecord:
    rates = {1: 500.0, 2: 900.0, 4: seed.FAILED}
    return seed.grid(store, session, {"threads": [1, 2, 4]}, lambda p: rates[p["threads"]], repeats=2, title=NASTY)


def test_a_page_has_all_that_it_needs(store: Store, study: StudyRecord, tmp_path: Path) -> None:
    target = tmp_path / "new" / "study.html"
    assert export.write(store, study, html=target) == [target]
    text = target.read_text()
    assert text.count("plotly.js v") == 1, "the library is in it once"
    head, body = text.partition("<script>")[0], text[text.index("<body>") :]
    for outside in ("http:", "https:", "src=", "url("):
        assert outside not in head and outside not in body
    assert "workshop run mnist --batch 32 --ranks 2 --threads 2" in text
    assert NASTY not in body and "&lt;script&gt;alert(1)" in body
    assert "&lt;b&gt;out&lt;/b&gt; of memory" in body
    assert body.count("Plotly.newPlot(") == 1


def test_a_table_has_every_trial(store: Store, study: StudyRecord, tmp_path: Path) -> None:
    export.write(store, study, csv=tmp_path / "study.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "study.csv").read_text())))
    assert [row["threads"] for row in rows[:3]] == ["1", "2", "4"]
    assert float(rows[1]["rate"]) == 900.0
    assert sorted(row["status"] for row in rows) == ["completed"] * 4 + ["failed"] * 2
    failed = next(row for row in rows if row["threads"] == "4")
    assert (failed["status"], failed["rate"], failed["why"]) == ("failed", "", f"MemoryError: {seed.WHY}")


def test_what_is_there_is_not_overwritten(store: Store, study: StudyRecord, tmp_path: Path) -> None:
    there = tmp_path / "study.html"
    there.write_text("mine")
    with pytest.raises(BadInput, match=r"study\.html is there already"):
        export.write(store, study, html=there, csv=tmp_path / "study.csv")
    assert there.read_text() == "mine"
    assert not (tmp_path / "study.csv").exists(), "nothing is written where not all can be"
    export.write(store, study, html=there, overwrite=True)
    assert "plotly" in there.read_text()
    with pytest.raises(BadInput, match="is a folder"):
        export.write(store, study, html=tmp_path, overwrite=True)
    with pytest.raises(BadInput, match="can't be written"):
        export.write(store, study, csv=there / "study.csv")
