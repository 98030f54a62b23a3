"""`workshop study` as a user meets it; what takes real sessions is in tests/study/test_runner.py."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.study import seed
from workshop.cli.main import run
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.sessions import measurement_lock
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.command import store_and_session, with_notices
from workshop.study.runner import Progress
from workshop.study.scaling.plan import KIND, plan
from workshop.study.terminal import report_ends, watch_study

Says = Callable[..., str]
SCALING = ["study", "run", "scaling", "--workload"]


@pytest.fixture
def says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Says:
    """`workshop study` with these words: what it prints, to both streams."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def called(*words: object) -> str:
        code = run(["study", *map(str, words)])
        told = capsys.readouterr()
        assert code == 0, told.err
        return told.out + told.err

    return called


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*SCALING, "mnist", "--ranks", "2"], "ranks has 1 of 2 to 32 values"),
        ([*SCALING, "mnist", "--ranks", "1,1000", "--batch", "1000"], "ranks is 1000: with its"),
        ([*SCALING, "nothing"], "There is no workload 'nothing'"),
        ([*SCALING, "mnist", "--ranks", "1,3"], "batch is 64, which 3 ranks can't divide among them"),
        ([*SCALING, "mnist", "--set", "epochs"], "--set epochs should be like --set name=value"),
        ([*SCALING, "mnist", "--data", "/nowhere"], "/nowhere"),
        ([*SCALING, "kmeans", "--weak"], "add --set data=blobs"),
        ([*SCALING, "kmeans", "--session", "a", "--private"], "exclude each other"),
        ([*SCALING, "kmeans", "--bind-to", "core", "--map-by", "package"], "own words"),
        (["study", "run", "scaling"], "Missing option '--workload'"),
        (["study", "resume", "99999999999999999999"], "There is no study 99999999999999999999"),
    ],
)
def test_bad_input_is_one_sentence(
    workshop_home: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    if "own words" in sentence:
        words = [*words, "--ranks", "1,16"]
    code = run(words)
    said = capsys.readouterr()
    assert code == 2, said.err
    assert sentence in said.err and said.out == ""
    if "own words" not in sentence:
        assert len(said.err.strip().splitlines()) == 1, said.err
    with Store.open() as store:
        assert store.studies() == [] and store.sessions() == [], "nothing was begun"


def test_a_study_as_json(store: Store, session: SessionRecord, says: Says) -> None:
    study = seed.study(store, session, failing=4)
    told = json.loads(says("show", study.id, "--json"))
    assert (told["study"], told["workload"], told["weak"], told["state"]) == (1, "mnist", False, "completed")
    one, two, four = told["rows"]
    names = ["ranks", "threads", "throughput", "low", "high", "speed_up", "efficiency", "phases"]
    assert set(one) >= {*names, "repeats", "failed", "runs"}
    assert (one["throughput"], one["low"], one["high"], one["speed_up"]) == (5200.0, 5100.0, 5320.0, 1.0)
    assert (two["ranks"], two["threads"], two["repeats"], two["failed"], len(two["runs"])) == (2, 1, 3, 0, 3)
    assert two["efficiency"] == pytest.approx(9900 / 5200 / 2) and set(two["phases"]) == set(seed.PHASES[1])
    assert (four["throughput"], four["failed"]) == (None, 3)
    assert set(told["verdict"]) == {"verdict", "why", "next"} and told["limit"] == "compute"
    assert {one["what"]: round(one["speed_up"], 2) for one in told["references"]} == {"ResNet-50": 1.89, "U-Net": 1.84}
    assert [trial["status"] for trial in told["trials"]].count("failed") == 3


def test_a_study_on_a_terminal(store: Store, session: SessionRecord, says: Says) -> None:
    seed.study(store, session, {1: (123456.0, 9.9e7), 2: (2.5e7, 1.2e9), 4: (5.5e8, 9.9e10)})
    seed.study(store, session, failing=4)
    seed.study(store, session, ended=0)
    for study in ("1", "2", "3"):
        shown = says("show", study)
        assert max(map(len, shown.splitlines())) <= 80, shown
        assert "Verdict:" in shown and "Next:" in shown
    shown = says("show", "2")
    assert "1.90×" in shown
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    one = next(row for row in rows if row.startswith("1 "))
    assert one.endswith("98 % – – 2 %"), "one rank has nobody to talk to"
    listed = says("list")
    assert max(map(len, listed.splitlines())) <= 80
    assert [line.split()[0] for line in listed.splitlines()] == ["study", "3", "2", "1"]
    assert [study["id"] for study in json.loads(says("list", "--json"))] == [3, 2, 1]


def test_an_interrupted_study_says_once_how_it_goes_on(store: Store, session: SessionRecord, says: Says) -> None:
    study = seed.study(store, session, ended=1)
    store.leave_study(study.id, "seed")
    shown = says("show", study.id)
    assert "interrupted, 1 of 9 runs" in " ".join(shown.split())
    assert f"Next: Go on with: workshop study resume {study.id}." in shown
    assert shown.lower().count("go on") == 1


def test_the_bar_says_what_is_run(store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=1)
    label = "2 ranks, 1 thread, bound to core, exchange parameter-server"
    trial = replace(store.trials(study.id)[0], label=label)
    now = store.run(trial.run_id or 0)
    out = io.StringIO()
    with watch_study(Console(file=out, force_terminal=True, width=80, no_color=True)) as look:
        look(Progress(trial, now, 3, 1000, 7200.0))
    assert f"  {label}" in out.getvalue() and "3/1000" in out.getvalue() and "about 2 h left" in out.getvalue()
    quiet = io.StringIO()
    with watch_study(Console(file=quiet)) as look:
        look(Progress(trial, now, 3, 1000, None))
    assert quiet.getvalue() == ""


def test_without_a_terminal_each_ended_trial_has_a_line(store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, failing=4)
    out = io.StringIO()
    report_end = report_ends(Console(file=out, width=40), store, study.id)
    trials = store.trials(study.id)
    failed = next(trial for trial in trials if trial.label.startswith("4 "))
    report_end(trials[0].number)
    report_end(failed.number)
    completed_line, failed_line = out.getvalue().splitlines()
    assert completed_line == f"9 of 9: {trials[0].label}, 5,200 images/s"
    assert failed_line.startswith(f"9 of 9: {failed.label}, failed: ") and len(failed_line) > 40
    terminal = io.StringIO()
    report_ends(Console(file=terminal, force_terminal=True), store, study.id)(failed.number)
    assert terminal.getvalue() == ""


def test_whoever_runs_a_study_reads_once_for_whom_it_waits(store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=1)
    trial = store.trials(study.id)[0]
    out, seen = Console(file=io.StringIO(), width=200), []
    look = with_notices(out, seen.append)
    for waits in ("", "Run 2 waits for A.", "Run 2 waits for A.", "Run 2 waits for B.", ""):
        look(Progress(trial, store.run(trial.run_id or 0), 1, 9, None, waits=waits))
    assert out.file.getvalue() == "Run 2 waits for A.\nRun 2 waits for B.\n" and len(seen) == 5


def test_only_the_run_that_waits_says_for_whom_a_study_waits(
    session: SessionRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    with measurement_lock.machine_held("benchmarks mnist"):
        store_and_session(session.name, private=False)
        assert capsys.readouterr().err == ""
        with pytest.raises(WorkshopError, match="Somebody else measures"):
            store_and_session(session.name, private=False, no_wait=True)


def test_nothing_to_resume(store: Store, session: SessionRecord, says: Says) -> None:
    study = seed.study(store, session, failing=4)
    told = says("resume", study.id)
    assert "has all its runs; --failed runs the 3 that failed again" in told and "Verdict:" in told
    assert len(store.runs()) == 9


def test_a_study_does_not_go_on_elsewhere(
    store: Store, session: SessionRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = ({"name": "alpha", "slots": 2},)
    wanted = plan(workload("kmeans"), {}, [1, 2], Placement(ranks=1, hosts=hosts))
    store.create_study(KIND, "kmeans", wanted.description(), wanted.trials())
    for where, name in (("--private", "a private session"), (f"--session={session.name}", f"session {session.name}")):
        assert run(["study", "resume", "1", where]) == 2
        said = capsys.readouterr()
        assert said.out == "" and len(said.err.strip().splitlines()) == 1
        assert said.err.startswith(f"Study 1 runs on alpha, but {name} is on this machine alone")
    assert (len(store.sessions()), store.runs(), store.study(1).failed) == (1, [], 0), "nothing was begun"


def test_what_was_never_begun(workshop_home: Path, says: Says) -> None:
    assert "workshop study run scaling" in says("list")
    assert json.loads(says("list", "--json")) == []
