"""Grid studies on the command line; tests with real sessions are in tests/study/grid/test_runs.py."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import session
from tests.study.conftest import Command
from tests.study.grid.cases import kept, run_all
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import SessionRecord, Trial
from workshop.store.store import Store
from workshop.study.grid.plan import plan
from workshop.study.kinds import report
from workshop.study.terminal import show_study

__all__ = ["session"]
GRID = ["study", "run", "grid", "--workload"]
BLOBS = {"data": "blobs", "points": 1000}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*GRID, "kmeans", "--vary", "clusters=4,8", "--set", "clusters=2"], "clusters is both set and varied"),
        ([*GRID, "nothing", "--vary", "ranks=1,2"], "There is no workload 'nothing'"),
        (
            [*GRID, "kmeans", "--vary", "ranks=1,2", "--trials", "5"],
            "--trials 5 says how many cells a sampler chooses; add --sampler tpe, or use --limit 5.",
        ),
        ([*GRID, "kmeans", "--vary", "ranks=1,2", "--session", "a", "--private"], "exclude each other"),
        (["study", "run", "grid"], "Missing option '--workload'"),
        (["study", "run", "file", "/nowhere.yaml"], "/nowhere.yaml can't be read (No such file or directory)."),
        (["study", "export", "7", "--json"], "There is no study 7"),
    ],
)
def test_bad_input_is_one_sentence(workshop_home: Path, command: Command, words: list[str], sentence: str) -> None:
    ended = command(*words)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err and len(ended.err.strip().splitlines()) == 1, ended.err
    with Store.open() as store:
        assert store.studies() == [] and store.sessions() == [], "nothing was begun"


@pytest.mark.real
def test_a_placement_that_the_mpi_refuses(workshop_home: Path, command: Command) -> None:
    """Open MPI binds no rank to more than it was mapped to."""
    refused = command(*GRID, "kmeans", "--vary", "map_by=core", "--bind-to", "package", "--set", "data=blobs")
    assert refused.code == 2 and len(refused.err.splitlines()) == 1
    assert refused.err.startswith("The only cell can't be run: by core: Try to ")
    assert "Open MPI refuses this placement, in its own words:" in refused.err
    with Store.open() as store:
        assert store.studies() == []


def speed(trial: Trial) -> float | str:
    if trial.point.get("clusters") == 8:
        return "no room for\nso many " + "words " * 30
    return 1e6 * trial.placement["ranks"] + 1e4 * trial.params["clusters"] + trial.repeat


def shown(store: Store, study: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    show_study(report(store, store.study(study)))
    said = capsys.readouterr().out
    assert max(len(line) for line in said.splitlines() if "--env" not in line) <= 80, said  # which can be copied
    assert "Verdict: " in said and "Next: " in said
    return said


def test_one_axis_two_axes_and_more_in_80_columns(
    store: Store, session: SessionRecord, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kmeans, best = workload("kmeans"), {"cells": 1, "repeats": 3}

    def made(axes: dict[str, Any], **asked: Any) -> str:
        study = kept(store, plan(kmeans, axes, BLOBS, Placement(), best=best, **asked))
        run_all(store, session, study.id, speed)
        return shown(store, study.id, capsys, monkeypatch)

    one = made({"clusters": [2, 4, 8]})
    lines = [line.split() for line in one.splitlines()]
    assert ["2", "2.02", "M", "–", "99", "%", "1"] in lines, one
    assert "MemoryError: no room for so many words" in " ".join(one.split())
    three = made({"ranks": [1, 2], "clusters": [2, 8], "features": list(range(2, 10))})
    assert "and 12 more, see --json" in three
    long = made(
        {"env.A_VARIABLE_WITH_A_LONG_NAME": ["and_a_value_that_is_long_" * 3, "b"], "mpi": ["openmpi"], "ranks": [1]}
    )
    assert "A_VARIABLE_WITH_A_LONG_NAME" in long

    sampled = made({"ranks": [1, 2], "clusters": [1, 2, 4]}, sampler={"name": "random", "trials": 3})
    assert "All cells (3)" in sampled


def test_an_unfinished_grid_says_how_to_go_on(
    store: Store, session: SessionRecord, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = plan(workload("kmeans"), {"ranks": [1, 2], "clusters": [2, 4]}, BLOBS, Placement())
    study = kept(store, wanted)
    assert "No run has completed so far." in shown(store, study.id, capsys, monkeypatch)
    run_all(store, session, study.id, speed, at_most=3)
    said = shown(store, study.id, capsys, monkeypatch)
    assert "interrupted, 3 of 4 runs" in " ".join(said.split())
    assert f"Next: Go on with: workshop study resume {study.id}." in said
    assert "waiting" in said, "a cell that has not run yet"


def test_listing_and_exporting(store: Store, session: SessionRecord, tmp_path: Path, command: Command) -> None:
    axes = {"ranks": [1, 2], "clusters": [2, 8]}
    wanted = plan(workload("kmeans"), axes, BLOBS, Placement(), title="[red]mine[/red]")
    run_all(store, session, kept(store, wanted).id, speed)
    assert "[red]mine[/red]" in command("study", "list").out, "what people write is text"
    assert "Say what to write" in command("study", "export", "1").err
    document = json.loads(command("study", "export", "1", "--json").out)
    assert document == json.loads(command("study", "show", "1", "--json").out)
    table, page = tmp_path / "a" / "trials.csv", tmp_path / "a" / "page.html"
    written = command("study", "export", "1", "--csv", str(table), "--html", str(page), "--json")
    assert json.loads(written.out) == {"study": 1, "files": [str(page), str(table)]}, written.err
    with table.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["ranks"], row["clusters"], row["status"]) for row in rows] == [
        ("1", "2", "completed"),
        ("1", "8", "failed"),
        ("2", "2", "completed"),
        ("2", "8", "failed"),
    ]
    assert "[red]mine[/red]" in page.read_text()
    again = command("study", "export", "1", "--csv", str(table))
    assert again.code == 2 and "is there already" in again.err
