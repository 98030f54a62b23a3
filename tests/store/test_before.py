"""What commit 56194b9 left, the last one before the package was cut into layers, still opens and says the same.

tests/store/before holds what that commit made through its own functions: `sqlite.sql.xz` is its store, with real runs
of all workloads that need no other software, a study of each kind, guesses, progress and rounds of quizzes;
`known.json` is what its pages showed of it. Since then, grids with fewer than three runs of a cell name no winner, and
scaling studies have other cards.
"""

from __future__ import annotations

import json
import lzma
import re
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from workshop.core import config, words
from workshop.core.placement import Placement
from workshop.quiz.results import record
from workshop.quiz.results.findings import find
from workshop.report.panels import outcome, side_by_side
from workshop.report.run_sections import RunLook, SessionLook
from workshop.report.snapshot import Snapshot
from workshop.sessions.launchers import site
from workshop.store.store import Store
from workshop.study import cards, export, terminal
from workshop.study.kinds import report, title
from workshop.web.quiz.results import write_report

BEFORE = Path(__file__).parent / "before"
KNOWN: Mapping[str, Any] = json.loads((BEFORE / "known.json").read_text())
VARIABLES = (
    "WORKSHOP_HOME",
    "WORKSHOP_DATABASE_URL",
    "WORKSHOP_MEMORY",
    "WORKSHOP_NOTEBOOKS",
    "WORKSHOP_CLASS_NOTEBOOKS",
    "WORKSHOP_LEARNER",
    "WORKSHOP_DASHBOARD",
    "WORKSHOP_DATA",
    "WORKSHOP_OFFLINE",
    "WORKSHOP_SSH",
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store as it was left, written once."""
    path = tmp_path_factory.mktemp("before") / "workshop.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(lzma.decompress((BEFORE / "sqlite.sql.xz").read_bytes()).decode())
    connection.close()
    return path


@pytest.fixture
def store(workshop_home: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """That store in the place where it was, opened by this version."""
    shutil.copy(database, workshop_home / "workshop.db")
    monkeypatch.setattr(outcome, "prediction", lambda run: None)  # depends on the MPIs of this machine
    with Store.open() as opened:
        yield opened


LATER = ("stream",)  # panels that those versions had not


def sections(store: Store, run_id: int) -> dict[str, list[str]]:
    """The names of the cards of a run's page, by panel, without those that came later."""
    said = RunLook(store, run_id)()
    assert "can't be shown" not in "".join(said.values())
    panels = {name: json.loads(said[name]) for name in json.loads(said["panels"])}
    names = {name: re.findall(r'data-card="([^"]*)"', shown["html"]) for name, shown in panels.items()}
    return {name: shown for name, shown in names.items() if shown and name not in LATER}


@pytest.mark.parametrize("number", KNOWN["runs"])
def test_a_run_has_its_page_and_its_verdict(store: Store, number: str) -> None:
    known, run = KNOWN["runs"][number], store.run(int(number))
    assert (run.workload, run.status, run.verdict) == (known["workload"], known["status"], known["verdict"])
    assert sections(store, run.id) == known["sections"]
    side_by_side(Snapshot(store, run))


@pytest.mark.parametrize("number", KNOWN["studies"])
def test_a_study_has_its_report_and_its_cards(store: Store, capsys: pytest.CaptureFixture[str], number: str) -> None:
    known, study = KNOWN["studies"][number], store.study(int(number))
    found = report(store, study)
    assert (study.kind, study.state, found.verdict["verdict"]) == (known["kind"], known["state"], known["verdict"])
    shown = cards.cards(found)
    assert [card.name for card in shown] == known["cards"]
    assert words.capital(title(study)) in unescape(export.page(found, shown))
    assert found.as_json()["study"] == study.id
    terminal.show_study(found)
    assert " ".join(known["verdict"].split()[:3]) in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("number", KNOWN["rounds"])
def test_a_round_has_its_results(store: Store, number: str) -> None:
    known, found = KNOWN["rounds"][number], record.read(store, int(number))
    assert (len(found.players), len(found.answers)) == (known["players"], known["answers"])
    assert sum(one.points or 0.0 for one in found.answers) == pytest.approx(known["points"])
    assert found.title in write_report(find(found)).decode()


def test_sessions_can_be_started_again_where_they_ran(store: Store, tmp_path: Path) -> None:
    kinds = {session.name: session.site["kind"] for session in store.sessions()}
    assert kinds == {"class": "local", "studies": "local", "bare": "local", "hosts": "hosts", "slurm": "slurm"}
    for session in store.sessions():
        where = Placement.parse(session.placement)
        site.check(session.site, where)
        assert site.open_site(session.site, tmp_path, where).here == (session.site["kind"] == "local")
        assert store.create_session(session.name, session.placement, site=session.site).state == "starting"
        assert json.loads(SessionLook(store, session.name)()["session"])["name"] == session.name


def test_every_variable_of_the_environment_is_still_read() -> None:
    """They stand in shells' start files and services of those who run the workshop."""
    assert config.in_checkout()
    files = [*config.app_folder().parent.glob("workshop/**/*.py"), config.app_folder().parent / "Makefile"]
    code = "".join(file.read_text() for file in files)
    assert [name for name in VARIABLES if not re.search(rf"\b{name}\b", code)] == []
