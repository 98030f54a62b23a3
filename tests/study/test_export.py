"""Studies as files: one page that needs nothing else, pictures by a real browser, a table."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from PIL import Image

from tests.conftest import leftovers
from tests.server import seed as class_seed
from tests.study.cards import seed
from tests.support import need, until
from workshop.core.errors import BadInput, WorkshopError
from workshop.report import png_renderer
from workshop.report.cards import Card, code, figure, fold, line, link, links, picture, pictures, table, tiles, words
from workshop.report.figures.shares import rings
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study import export, kinds
from workshop.study.cards import cards

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


def test_every_kind_of_part_is_written_and_none_of_it_is_markup(store: Store, study: StudyRecord) -> None:
    found = kinds.any_report(store, study)
    everything = Card(
        "all",
        NASTY,
        (
            words(line(NASTY, NASTY, "note"), line(NASTY, tone="heading")),
            figure(rings({"": {NASTY: 1.0}}), width=700),
            figure(export.pictures(cards(found))["01-grid.png"]),
            tiles([{"label": NASTY, "value": NASTY}]),
            code(NASTY),
            fold(NASTY, NASTY),
            links(link("/run?run=1", NASTY)),
            pictures([picture("data:image/png;base64,AAAA", NASTY), picture("/artifact/1/x", "not here")]),
            table([NASTY], [[NASTY], [{"text": NASTY, "colour": "#000000"}], [{"links": [link("/run?run=7", NASTY)]}]]),
        ),
    )
    body = export.page(found, [everything]).partition("<body>")[2]
    assert NASTY not in body
    assert "/run?run=" not in body and "/artifact/" not in body, "there is no dashboard where this is read"


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


def test_without_a_browser_one_sentence(
    store: Store, study: StudyRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    with pytest.raises(BadInput, match="apt-get install chromium") as refused:
        export.write(store, study, png=tmp_path / "pictures", html=tmp_path / "study.html")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "study.html").exists()


def test_a_study_without_figures_has_no_pictures(store: Store, session: SessionRecord, tmp_path: Path) -> None:
    odd = seed.grid(store, session, {"ranks": [1, 2]}, lambda _: 500.0, kind="newer")
    assert [path.name for path in export.write(store, odd, html=tmp_path / "a.html")] == ["a.html"]
    with pytest.raises(BadInput, match="has no figures"):
        export.write(store, odd, png=tmp_path)


needs_browser = pytest.mark.real


@needs_browser
def test_pictures_are_drawn_by_a_browser_that_ends_with_us(
    store: Store, study: StudyRecord, tmp_path: Path, workshop_home: Path
) -> None:
    need(png_renderer.browser(), "chromium (apt-get install chromium)")
    (path,) = export.write(store, study, png=tmp_path / "pictures")
    assert path.name == "01-grid.png"
    drawn = Image.open(path).convert("RGB")
    assert drawn.width == png_renderer.WIDTH * png_renderer.SCALE
    assert drawn.getpixel((3, 3)) == (255, 255, 255)
    colours = {colour for _, colour in drawn.getcolors(1 << 24) or []}
    assert (11, 92, 122) in colours, "the line has the accent's colour"
    assert not leftovers(workshop_home)


@pytest.mark.exhaustive
@needs_browser
def test_a_browser_that_takes_too_long_is_ended(workshop_home: Path) -> None:
    need(png_renderer.browser(), "chromium (apt-get install chromium)")
    with pytest.raises(WorkshopError, match="has not drawn 400 figures within 5 s"):
        png_renderer.render([rings({"": {"a": 1.0}})] * 400, limit=5.0)
    assert not leftovers(workshop_home)


@needs_browser
def test_after_kill_9_of_the_exporter_no_browser_is_left(workshop_home: Path) -> None:
    need(png_renderer.browser(), "chromium (apt-get install chromium)")
    program = (
        "from workshop.report.figures.shares import rings; from workshop.report.png_renderer import render\n"
        "render([rings({'': {'a': 1.0}})] * 200)"
    )
    exporter = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "WORKSHOP_HOME": str(workshop_home)}
    )
    try:
        until(lambda: any("renderer" in " ".join(_line(one)) for one in leftovers(workshop_home)), 60, "the browser")
    finally:
        exporter.send_signal(signal.SIGKILL)
        exporter.wait()
    until(lambda: not leftovers(workshop_home), 20, "the browser's end")


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_no_figures_need_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert png_renderer.render([]) == []
