"""`workshop tune` as a user meets it, and a real one that is killed and goes on."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_cli import WORKSHOP, answer, workshop
from tests.live_session import Session
from tests.study.conftest import own_lock, session
from tests.study.tune import cases, seed
from tests.support import limit, until
from tests.web import seed as class_seed
from workshop.cli.main import run
from workshop.mpi import openmpi
from workshop.store.store import Store

__all__ = ["own_lock", "session"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing"], "There is no workload 'nothing'"),
        (["allreduce"], "The tuner doesn't know what to try with allreduce; it knows"),
        (["kmeans", "--budget", "soon"], "--budget soon is no time; it should be like 5m, 90s or 1h."),
        (["kmeans", "--budget", "1000h"], "--budget 1000h is too long; it should be at most 24h."),
        (["kmeans", "--budget", "12s"], "A budget of 12 s is too small for 2 trials"),
        (["kmeans", "--set", "clusters"], "--set clusters should be like --set name=value"),
        (["kmeans", "--set", "nonsense=1"], "nonsense is not one of its settings"),
        (["mnist", "--set", "data=/nowhere"], "/nowhere"),
        (["kmeans", "--session", "here", "--private"], "exclude each other"),
    ],
)
def test_bad_input_is_one_sentence(
    store: Store, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code = run(["tune", *words])
    said = capsys.readouterr()
    assert code == 2, said.err
    assert sentence in said.err and said.out == ""
    assert len(said.err.strip().splitlines()) == 1, said.err
    assert store.studies() == [] and store.sessions() == [], "nothing was begun"


def narrow(text: str) -> bool:
    """Whether all but the commands fits 80 columns."""
    return all(len(line) <= 80 or line.startswith(("workshop", "mpirun")) for line in text.splitlines())


@pytest.mark.real
def test_a_study_on_a_terminal_and_as_json(store: Store) -> None:
    here = class_seed.session(store)
    asked = cases.asked(budget=150.0)

    def speed(point: dict) -> float | str:
        if point["exchange"] == "parameter-server":
            return "RankDied"
        return 5123.0 * min(point["ranks"], 2) * (0.8 if point["exchange"] == "horovod" else 1.0)

    made = seed.study(store, here, asked, speed)
    shown = workshop("study", "show", str(made.id))
    assert shown.returncode == 0, shown.stderr
    assert narrow(shown.stdout), shown.stdout
    for words in ("tuning of mnist in 2.5 min - completed", "Verdict:", "Why:", "failed", "(naive start)", "(default)"):
        assert words in " ".join(shown.stdout.split()), words
    command = shown.stdout.partition("workshop run ")[2].partition("The same without")[0]
    told = answer("study", "show", str(made.id))
    assert isinstance(told, dict)
    assert ["workshop", "run", *command.split()] == told["command"].split(), (
        "a command that can be copied from the terminal"
    )
    assert "--exchange mpi" in told["command"] and told["gain"]["ratio"] == pytest.approx(2.5)
    assert told["best"]["placement"]["ranks"] >= 2 and told["naive"]["placement"]["ranks"] == 1
    assert "failed" in {row["status"] for row in told["rows"]}
    assert "tuning of mnist" in workshop("study", "list").stdout

    seed.study(store, here, asked, speed, most=2)
    shown = workshop("study", "show", "2")
    assert "interrupted" in shown.stdout and "workshop study resume 2" in shown.stdout
    assert narrow(shown.stdout), shown.stdout


@pytest.mark.exhaustive
@pytest.mark.real
@pytest.mark.timeout(limit(400))
def test_kill_9_of_the_command_loses_no_trial(session: Session) -> None:
    words = ["tune", "kmeans", "--budget", "1h", "--trials", "3", "--json"]
    for setting in ("points=200000", "clusters=64", "iterations=400"):
        words += ["--set", setting]
    store = session.store

    def start() -> subprocess.Popen[str]:
        environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
        return subprocess.Popen(
            [WORKSHOP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )

    killed = start()
    until(lambda: len(store.runs(limit=None)) >= 2, 120, "the second trial")
    killed.kill()
    killed.communicate(timeout=limit(10))
    kept = store.trials(1)[0]
    assert kept.run_id is not None and store.run(kept.run_id).status == "completed"

    again = start()
    out, err = again.communicate(timeout=limit(200))
    assert again.returncode == 0, err
    assert "Study 1 asked for the same and is not complete: going on with it." in err
    told = json.loads(out)
    assert (told["study"], told["state"], told["kind"]) == (1, "completed", "tune")
    trials = told["trials"]
    assert [trial["number"] for trial in trials] == list(range(1, len(trials) + 1)) and len(trials) >= 5
    assert trials[0]["run"] == kept.run_id, "what has completed is not run again"
    assert [trial["status"] for trial in trials[:2]] == ["completed", "completed"], "the naive start and the default"
    # Whether the third one is hopeless is the machine's to say: where NumPy is nearly as fast as Numba, it isn't.
    assert {trial["status"] for trial in trials[2:]} <= {"completed", "pruned"}
    for pruned in (trial for trial in trials if trial["status"] == "pruned"):
        assert "the median of the trials before it" in pruned["pruned"]["why"] and pruned["pruned"]["seconds"] >= 1.0
        assert store.run(pruned["run"]).status == "cancelled"
    runs = store.runs(study_id=1, limit=None)
    assert len(runs) == len(trials), "nothing is run twice"
    assert len({json.dumps(trial["point"], sort_keys=True) for trial in trials if trial["repeat"] == 1}) == sum(
        trial["repeat"] == 1 for trial in trials
    )
    assert {run.measured for run in runs} == {True}
    assert told["naive"]["placement"]["bind_to"] == "core" and told["naive"]["placement"]["ranks"] == 1
    assert told["command"].startswith("workshop run kmeans ") and " --ranks " in told["command"]
    # The line without a session is one that runs.
    assert told["mpirun"].startswith("mpirun -n ") and "--points 200000" in told["mpirun"]
    path = os.pathsep.join([str(Path(WORKSHOP).parent), os.environ["PATH"]])
    alone = os.environ | openmpi.environment() | {"PATH": path}
    done = subprocess.run(shlex.split(told["mpirun"]), capture_output=True, text=True, env=alone, timeout=limit(120))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["points"] == 200_000
