"""Grids on real sessions: whoever is killed, no finished trial is lost, and the study goes on to its end."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import workshop
from tests.conftest import leftovers
from tests.live_session import Session
from tests.study.test_runner import end, start, working
from tests.support import limit, until
from workshop.store.store import Store
from workshop.study import runner

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(600))]
GRID = "workload: work\nvary: {ranks: [1, 2]}\nbest: {cells: 1, repeats: 3}\n"


def study(folder: Path, text: str) -> list[str]:
    """The words that run the study of this text."""
    (folder / "study.yaml").write_text(text)
    return ["run", "file", str(folder / "study.yaml")]


def statuses(told: dict[str, Any]) -> list[str]:
    return [trial["status"] for trial in told["trials"]]


def test_the_command_is_killed_and_interrupted_while_the_best_are_repeated(session: Session, tmp_path: Path) -> None:
    store = session.store
    words = study(tmp_path, f"{GRID}params: {{batch: 8, seconds: 1}}\n")
    first = start(*words)
    third = working(store, 3)
    first.kill()
    first.communicate(timeout=limit(10))
    kept = [trial.run_id for trial in store.trials(1)]
    assert len(kept) == 4 and kept[:3] == [1, 2, third.id], "both cells, and the repeats of the better one"

    second = start("resume", "1")
    working(store, 4)
    second.send_signal(signal.SIGINT)
    told = end(second, 130)
    assert (told["state"], statuses(told)) == ("interrupted", ["completed"] * 3 + ["cancelled"])
    assert [trial["run"] for trial in told["trials"][:3]] == kept[:3], "the run that went on was not run again"

    told = end(start(*words), 0)
    assert (told["study"], told["state"], statuses(told)) == (1, "completed", ["completed"] * 4)
    assert [trial["run"] for trial in told["trials"]] == [1, 2, 3, 5]
    assert [run.status for run in reversed(store.runs())] == ["completed"] * 3 + ["cancelled", "completed"]
    assert told["winner"]["label"] == "2 ranks" and told["winner"]["rates"] == [1800.0] * 3
    assert [row["rate"] for row in told["rows"]] == [1000.0, 1800.0]
    assert [run.metrics["batch"] for run in store.runs(study_id=1)] == [4, 4, 4, 8], "the ranks share the batch"
    assert told["verdict"]["verdict"].startswith("2 ranks reached the most, 1,800 images/s; can't tell"), (
        "1 rank ran once"
    )
    shown = workshop("study", "show", "1").stdout
    assert max(map(len, shown.splitlines())) <= 80, shown
    assert ["2", "1,800", "1,800", "to", "1,800", "100", "%", "2", "3", "5"] in map(str.split, shown.splitlines()), (
        shown
    )


@pytest.mark.exhaustive
def test_a_rank_and_the_conductor_of_a_session_of_its_own_are_killed(
    workshop_home: Path, probe_workloads: None, tmp_path: Path
) -> None:
    words = [*study(tmp_path, f"{GRID}params: {{batch: 8, seconds: 1}}\nrepeats: 2\n"), "--private"]
    command = start(*words)
    with Store.open() as store:
        two = working(store, 2)
        assert two.rank_map is not None
        os.kill(two.rank_map["ranks"][1]["pid"], signal.SIGKILL)
        three = working(store, 3)
        assert [trial.run_id for trial in store.trials(1)][:2] == [1, 2] and store.run(2).status == "failed"
        os.kill(store.session(three.session_id).conductor_pid or 0, signal.SIGKILL)
        _, said = command.communicate(timeout=limit(120))
        assert command.returncode == 1 and "Go on with: workshop study resume 1" in said, said
        assert "Traceback" not in said and re.search(r"^1 of 5: 1 rank, 1,000 images/s$", said, re.MULTILINE), said
        assert re.search(r"^2 of 5: 2 ranks, failed: ", said, re.MULTILINE), said
        sentences = [line for line in said.splitlines() if re.match(r"\d+ of \d+: ", line) is None]
        assert " ".join(sentences).count("tudy 1: ") == 1 and len(sentences) <= 4, said
        until(lambda: store.run(three.id).status == "interrupted", 20, "the run to read interrupted")

        told = end(start("resume", "1", "--private"), 0)
        assert told["state"] == "completed"
        assert statuses(told)[:4] == ["completed", "failed", "completed", "completed"]
        assert [trial["run"] for trial in told["trials"][:2]] == [1, 2], "what has ended is not run again"
        assert "signal" in told["trials"][1]["error"]["message"].lower() or told["trials"][1]["error"]
        rows = {row["label"]: row for row in told["rows"]}
        assert rows["2 ranks"]["failed"] == 1 and rows["2 ranks"]["status"] == "completed"
        assert {known.state for known in store.sessions()} <= {"stopped", "failed"}


@pytest.mark.exhaustive
def test_the_command_is_killed_while_ranks_start(workshop_home: Path, probe_workloads: None, tmp_path: Path) -> None:
    """Its private session ends with it, which says nothing of the cell that was about to run."""
    words = study(tmp_path, f"{GRID}params: {{batch: 8, seconds: 60}}\n")  # no run ends before the kill
    command = start(*words, "--private")
    with Store.open() as store:

        def starting() -> bool:
            found = store.runs(limit=1)
            return bool(found) and found[0].status == "running" and found[0].rank_map is None

        until(starting, 120, "ranks to be started for a run")
        command.kill()
        command.communicate(timeout=limit(10))
        until(lambda: store.run(1).ended, 60, "the run to end")
        assert store.run(1).status in ("cancelled", "interrupted")
        assert len(runner.missing(*runner.read(store, 1))) == 2, "both cells are still to be run"
        until(lambda: not leftovers(workshop_home), 30, "its session to end")


def test_white_cells_are_shown_and_the_grid_goes_on(session: Session, tmp_path: Path) -> None:
    store = session.store
    vary = "vary: {ranks: [1, 2, 3, 64], epochs: [1, 2]}\n"
    told = end(start(*study(tmp_path, f"workload: work\nparams: {{batch: 64, fails: 2}}\n{vary}best: null\n")), 0)
    assert told["state"] == "completed" and [run.status for run in reversed(store.runs())] == [
        "completed",
        "completed",
        "failed",
        "failed",
    ]
    whys = {row["label"]: row["why"] for row in told["rows"]}
    assert whys["1 rank, epochs 1"] is None
    assert whys["2 ranks, epochs 2"] == "ArithmeticError: too many of us"
    assert whys["3 ranks, epochs 1"] == "batch is 64, which 3 ranks can't divide among them."
    assert "this machine takes at most" in whys["64 ranks, epochs 2"]
    shown = workshop("study", "show", "1").stdout
    assert max(map(len, shown.splitlines())) <= 80, shown
    lines = [line.split() for line in shown.splitlines()]
    reasons = {(line[0], line[1]): " ".join(line[6:]) for line in lines if line[2:6] == ["failed", "–", "–", "–"]}
    assert reasons.keys() == {(ranks, epochs) for ranks in ("2", "3", "64") for epochs in ("1", "2")}, shown
    assert reasons["2", "1"] == reasons["2", "2"] == "ArithmeticError: too many of us"
    assert reasons["3", "1"].startswith("batch is 64, which 3 ranks") and "divide among them." in " ".join(
        shown.split()
    )
    assert reasons["64", "2"].startswith("ranks is 64: with its")
    again = workshop("study", "resume", "1")
    assert again.returncode == 0 and "has all its runs; --failed runs the" in again.stderr
    assert len(store.runs()) == 4
