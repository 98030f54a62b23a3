"""`workshop federation` as a user meets it: what is refused, what is shown, and a real one on our own ranks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import answer, workshop
from tests.conftest import leftovers
from tests.server import seed
from tests.support import until
from tests.workloads.openfl.test_panels import KEY, begun
from tests.workloads.openfl.test_verdict import certificate
from workshop.cli.main import run
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.workloads.openfl import environment

SMALL = ["--backend", "session", "--data", "digits", "--images", "300", "--model", "dense", "--epochs", "1"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["start", "--backend", "flower"], "There is no backend 'flower'; it should be openfl or session."),
        (["start", "--collaborators", "0"], "collaborators is 0: it should be at least 1"),
        (["start", "--backend", "session", "--rounds", "none"], "rounds is 'none'"),
        (["start", "--backend", "session", "--alpha", "-1"], "alpha is -1: it should be greater than 0"),
        (["start", "--backend", "session", "--data", "digits", "--images", "4"], "4 images"),
        (["start", "--backend", "session", "--fault", "dies"], "--fault dies needs OpenFL's certificates"),
        (["start", "--backend", "session", "--limit", "60"], "--limit is for OpenFL's processes"),
        (["start", "--fault", "bad-luck"], "fault is 'bad-luck'"),
        (["start", "--backend", "session", "--ranks", "0"], "ranks is 0"),
        (["start", "--backend", "session", "--minutes", "0"], "minutes"),
        (["start", "--backend", "session", "--data", "/nowhere"], "/nowhere"),
        (["status"], "There is no federation yet; start one with: workshop federation start"),
        (["status", "7"], "There is no run 7"),
        (["stop"], "No federation goes on; start one with"),
        (["stop", "7"], "There is no run 7"),
    ],
)
def test_bad_input_is_one_sentence_and_starts_nothing(
    store: Store, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code = run(["federation", *words])
    said = capsys.readouterr()
    assert code == 2, said.err
    assert sentence in said.err
    assert said.out == ""
    told = [line for line in said.err.strip().splitlines() if not line.startswith("Starting")]
    assert len(told) == 1, said.err
    assert store.sessions() == []
    assert store.runs() == []


def test_what_is_no_federation_is_refused(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    other = seed.completed(store, seed.session(store))
    assert run(["federation", "status", str(other.id)]) == 2
    assert "is of kmeans, which is no federation" in capsys.readouterr().err


def test_the_status_of_a_federation_over_openfl(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    refused = certificate("institution2", accepted=False, issuer="CN=other", why="unknown authority", key=KEY)
    with seed.alive(store, "class") as session:
        made = begun(store, session, rounds=2, fault="foreign-certificate", certificates=[refused])
        assert run(["federation", "status"]) == 0
        shown = capsys.readouterr().out
        assert run(["federation", "status", str(made.id), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert max(map(len, shown.splitlines())) <= 80, shown
    words = " ".join(shown.split())
    for part in ("2 institutions, over OpenFL - running", "round 2 of 5, accuracy 75.0 %", "fx aggregator start"):
        assert part in words, shown
    assert "no: unknown authority" in words
    assert KEY not in shown + json.dumps(told)
    assert (told["backend"], told["status"], told["round"], told["rounds"]) == ("openfl", "running", 2, 5)
    assert told["accuracy"] == {"held_out": 0.75, "own": 0.75}
    assert [one["round"] for one in told["by_round"]] == [1, 2]
    assert told["fx"][0].keys() == {"command", "where", "seconds", "code"}
    assert told["certificates"][0].keys() == {"name", "subject", "issuer", "expires", "accepted", "why"}
    assert told["page"] is None


def test_of_several_that_go_on_one_has_to_be_named(
    store: Store, session: SessionRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (store.submit(session.id, "federated", {}, seed.PLACEMENT) for _ in range(2))
    assert run(["federation", "stop"]) == 2
    assert f"Several federations go on: runs {second.id}, {first.id}; name one of them." in capsys.readouterr().err
    assert run(["federation", "stop", str(first.id), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "cancelled"
    assert run(["federation", "stop"]) == 0
    assert f"Run {second.id} is cancelled, and its processes have ended." in capsys.readouterr().err


@pytest.mark.real
def test_help_is_what_one_reads_first() -> None:
    told = workshop("federation", "--help").stdout
    assert max(map(len, told.splitlines())) <= 80
    for words in ("install", "status", "stop", "--fault foreign-certificate", "--backend session"):
        assert words in told
    told = workshop("federation", "start", "--help").stdout
    for option in ("--backend", "--collaborators", "--rounds", "--partition", "--fault", "--minutes", "--wait"):
        assert option in told


def test_the_first_federation_installs_openfl_or_says_why_it_can_not(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "ROOM", 1 << 60)
    assert run(["federation", "start"]) == 1
    said = capsys.readouterr()
    assert "OpenFL needs" in said.err and "free some space or set WORKSHOP_HOME" in said.err
    assert len(said.err.strip().splitlines()) == 1 and said.out == ""
    assert store.sessions() == [], "nothing was begun"


def test_install_says_where_it_is(
    workshop_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment.folder() / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert run(["federation", "install", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "python": str(python),
        "folder": str(environment.folder()),
        "new": False,
    }


@pytest.mark.real
def test_a_federation_on_our_own_ranks_from_start_to_its_end(workshop_home: Path, store: Store) -> None:
    started = answer("federation", "start", *SMALL, "--collaborators", "3", "--rounds", "3", "--minutes", "3")
    assert (started["backend"], started["collaborators"], started["rounds"]) == ("session", 3, 3)
    assert started["session"].startswith("federation-")
    assert started["minutes"] == 3
    until(lambda: store.run(started["run"]).ended, 120, "the federation to end")
    until(lambda: store.session(started["session"]).state == "stopped", 60, "its session to end with it")
    until(lambda: not leftovers(workshop_home), 60, "its processes to end")
    told = answer("federation", "status")
    assert (told["run"], told["status"], told["round"]) == (started["run"], "completed", 3), told["error"]
    assert 0 < told["accuracy"]["held_out"] <= 1
    assert told["verdict"]["verdict"].startswith("Federated learning came to")

    begun = workshop("federation", "start", *SMALL, "--epochs", "50", "--rounds", "200")
    assert begun.returncode == 0, begun.stderr
    assert max(map(len, begun.stdout.splitlines())) <= 80
    assert f"stop    workshop federation stop {started['run'] + 1}" in begun.stdout
    until(lambda: store.totals(started["run"] + 1).get("held-out accuracy"), 120, "the first round")
    stopped = answer("federation", "stop")
    assert (stopped["run"], stopped["status"], stopped["session_state"]) == (started["run"] + 1, "cancelled", "stopped")
    assert not leftovers(workshop_home)
