"""`workshop study run path`: two cheap steps for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.study.conftest import own_lock
from tests.support import limit
from workshop.store.store import Store
from workshop.study.guided.plan import Setting
from workshop.workloads.sgan.study.facts import GUIDE

__all__ = ["own_lock"]
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


def run(*words: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run(
        [WORKSHOP, "study", *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=limit(seconds),
        check=False,
    )


@pytest.mark.exhaustive
@pytest.mark.real
@pytest.mark.timeout(limit(400))
def test_two_steps_are_run_and_gone_on_with(workshop_home: Path) -> None:
    words = ["run", "path", "--steps", "a,g", "--set", "data=digits", "--set", "iterations=8", "--private"]
    done = run(*words, "--json", seconds=300)
    assert done.returncode == 0, done.stderr
    assert "The quick setting of steps a and g, for" in done.stderr
    assert done.stderr.count("runs to go, about") == done.stderr.count("about") == 1, "one figure"
    told = json.loads(done.stdout)
    steps = {one["step"]: one for one in told["steps"]}
    assert (told["kind"], told["state"], told["setting"]) == ("path", "completed", "quick")
    assert steps["a"]["state"] == "done" and "on one core" in steps["a"]["verdict"]["verdict"]
    assert "threads live in it" in steps["a"]["verdict"]["why"], "every run tells its threads"
    assert int(steps["a"]["answer"].split()[0]) > 5
    there = [cell for cell in steps["g"]["cells"] if cell["rate"]]
    lacking = [cell for cell in steps["g"]["cells"] if not cell["rate"]]
    assert [cell["label"] for cell in there] == ["g: Open MPI"] and there[0]["repeats"] == 3
    assert "workshop mpi install mpich" in lacking[0]["why"]
    assert steps["b"]["state"] == "waiting", "that one of its cells is one of a's tells nothing of it"
    with Store.open() as store:
        assert [run.status for run in store.runs()] == ["completed"] * 9
        assert Setting.read(GUIDE, store.study(1).description).steps == "ag"
    shown = run("show", "1")
    assert shown.returncode == 0 and all(len(line) <= 80 for line in shown.stdout.splitlines())
    assert "Profile the start" in shown.stdout and "Only Open MPI could be measured" in shown.stdout
