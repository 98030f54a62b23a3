"""Grid studies on the command line; tests with real sessions are in tests/study/grid/test_runs.py."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import session
from tests.cli.test_cli import workshop
from tests.study.grid.cases import kept, run_all
from workshop.cli.main import run
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
        ([*GRID, "kmeans"], "The grid is empty: name at least one thing to vary"),
        ([*GRID, "kmeans", "--vary", "ranks="], "--vary ranks= has no values"),
        ([*GRID, "kmeans", "--vary", "rank=1,2"], "Did you mean ranks?"),
        ([*GRID, "kmeans", "--vary", "ranks=1,x"], "ranks is 'x': it should be a whole number."),
        ([*GRID, "kmeans", "--vary", "ranks=1,2,1"], "ranks has the value 1 twice"),
        ([*GRID, "kmeans", "--vary", "clusters=4,8", "--set", "clusters=2"], "clusters is both set and varied"),
        ([*GRID, "kmeans", "--vary", "clusters=4", "--set", "nonsense=2"], "nonsense is not one of its settings"),
        ([*GRID, "kmeans", "--vary", "image=/nowhere.png"], "/nowhere.png"),
        ([*GRID, "nothing", "--vary", "ranks=1,2"], "There is no workload 'nothing'"),
        ([*GRID, "allreduce", "--vary", "ranks=1,2"], "allreduce doesn't tell how fast it is"),
        (
            [*GRID, "kmeans", "--vary", "ranks=64,128"],
            "None of the 2 cells can be run: 64 ranks: ranks is 64: with its",
        ),
        ([*GRID, "kmeans", "--vary", "ranks=1,2", "--session", "a", "--private"], "exclude each other"),
        (["study", "run", "grid"], "Missing option '--workload'"),
        (["study", "run", "file", "/nowhere.yaml"], "/nowhere.yaml can't be read (No such file or directory)."),
        (["study", "export", "7", "--json"], "There is no study 7"),
    ],
)
def test_bad_input_is_one_sentence(
    workshop_home: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code = run(words)
    said = capsys.readouterr()
    assert code == 2, said.err
    assert sentence in said.err and said.out == ""
    assert len(said.err.strip().splitlines()) == 1, said.err
    with Store.open() as store:
        assert store.studies() == [] and store.sessions() == [], "nothing was begun"


@pytest.mark.real
def test_a_million_cells_and_a_placement_that_the_mpi_refuses(
    workshop_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = ",".join(map(str, range(1, 1001)))
    assert run([*GRID, "kmeans", "--vary", f"clusters={numbers}", "--vary", f"features={numbers}"]) == 2
    said = capsys.readouterr().err
    assert "1,000,000 cells (1000 × 1000)" in said and "347 days at 30 s a run" in said
    assert "sampler: {name: tpe, trials: 50}" in said
    # Open MPI binds no rank to more than it was mapped to.
    refused = ["--vary", "map_by=core", "--bind-to", "package", "--set", "data=blobs"]
    assert run([*GRID, "kmeans", *refused]) == 2
    said = capsys.readouterr().err
    assert said.startswith("The only cell can't be run: by core: Try to ") and len(said.splitlines()) == 1
    assert "Open MPI refuses this placement, in its own words:" in said
    with Store.open() as store:
        assert store.studies() == []


def test_files_with_mistakes(workshop_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "study.yaml"
    for text, sentence in [
        ("workload: kmeans\nvarry: {ranks: [1]}\n", f"{file}, line 2: varry is not one of its settings"),
        ("workload: kmeans\nvary: {}\n", "The grid is empty"),
        ("workload: kmeans\nvary: {ranks: []}\n", "ranks has no values"),
        ("workload: kmeans\nplacement: {ranks: 2, colour: red}\nvary: {clusters: [2]}\n", "colour is not one of its"),
        ("workload: kmeans\nplacement: {mpi: lam}\nvary: {clusters: [2]}\n", "mpi is 'lam'"),
        ("workload: kmeans\nsampler: magic\nvary: {clusters: [2]}\n", "sampler is 'magic': it should be tpe or random"),
    ]:
        file.write_text(text)
        assert run(["study", "run", "file", str(file)]) == 2
        said = capsys.readouterr().err
        assert sentence in said and len(said.strip().splitlines()) == 1, said


def speed(trial: Trial) -> float | str:
    if trial.point.get("clusters") == 8:
        return "no room for\nso many " + "words " * 30
    return 1e6 * trial.placement["ranks"] + 1e4 * trial.params["clusters"] + trial.repeat


def shown(store: Store, study: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    show_study(report(store, store.study(study)))
    said = capsys.readouterr().out
    assert max(len(line) for line in said.splitlines() if not line.startswith("workshop run")) <= 80, said
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


@pytest.mark.real
def test_a_sampled_study_says_how_many_runs_are_to_come(store: Store, session: SessionRecord) -> None:
    axes = {"ranks": [1, 2], "clusters": [2, 4, 16]}
    wanted = plan(workload("kmeans"), axes, BLOBS, Placement(), sampler={"trials": 4}, best={"cells": 1, "repeats": 2})
    study = kept(store, wanted)
    assert "0 of 5" in workshop("study", "list").stdout
    run_all(store, session, study.id, speed, at_most=2)
    (told,) = json.loads(workshop("study", "list", "--json").stdout)
    assert (told["done"], told["trials"], told["expected"]) == (2, 2, 5)
    assert "interrupted, 2 of 5 runs" in " ".join(workshop("study", "show", "1").stdout.split())


@pytest.mark.real
def test_listing_and_exporting(store: Store, session: SessionRecord, tmp_path: Path) -> None:
    wanted = plan(
        workload("kmeans"), {"ranks": [1, 2], "clusters": [2, 8]}, BLOBS, Placement(), title="[red]mine[/red]"
    )
    run_all(store, session, kept(store, wanted).id, speed)
    listed = workshop("study", "list")
    assert "[red]mine[/red]" in listed.stdout, "what people write is text"
    asked = workshop("study", "export", "1")
    assert asked.returncode == 2 and "Say what to write" in asked.stderr
    document = json.loads(workshop("study", "export", "1", "--json").stdout)
    assert document == json.loads(workshop("study", "show", "1", "--json").stdout)
    table, page = tmp_path / "a" / "trials.csv", tmp_path / "a" / "page.html"
    written = workshop("study", "export", "1", "--csv", str(table), "--html", str(page), "--json")
    assert json.loads(written.stdout) == {"study": 1, "files": [str(page), str(table)]}, written.stderr
    with table.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["ranks"], row["clusters"], row["status"]) for row in rows] == [
        ("1", "2", "completed"),
        ("1", "8", "failed"),
        ("2", "2", "completed"),
        ("2", "8", "failed"),
    ]
    assert "[red]mine[/red]" in page.read_text()
    again = workshop("study", "export", "1", "--csv", str(table))
    assert again.returncode == 2 and "is there already" in again.stderr


@pytest.mark.real
def test_help() -> None:
    said = workshop("study", "run", "grid", "--help").stdout
    for option in (
        "--workload",
        "--vary",
        "--set",
        "--repeats",
        "--json",
    ):
        assert option in said
    assert "FILE" in workshop("study", "run", "file", "--help").stdout
