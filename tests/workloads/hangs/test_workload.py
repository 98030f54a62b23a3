"""The catalogue as a workload and as guided failures: what is asked, what a run says, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from itertools import chain

import psutil
import pytest

from tests.ranks import ROOT
from tests.report.test_panels import part, shown
from tests.support import limit, starts_processes, until
from tests.web import seed
from workshop.core import processes
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.report.failures import command, failures, failures_of
from workshop.report.verdict import verdict
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.workloads.hangs import WORKLOAD
from workshop.workloads.hangs.diagnosis import KINDS, MOVING, cause
from workshop.workloads.hangs.examples import example, examples, options
from workshop.workloads.hangs.run import environment, watch
from workshop.workloads.hangs.states import PROGRAM, marked, rows

HANGS = failures_of("hang")
STATES = ["rank 0  Recv from rank 1, tag 7  work.py:2", "rank 1  has ended", "rank 2  raised (a  b)  work.py:2"]


def engine(ranks: int, *words: str) -> list[str]:
    """The command of the workload without a session."""
    ranked = [openmpi.launcher(), "-n", str(ranks), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
    return [*ranked, sys.executable, "-m", "workshop.engine", "hang", *words]


def variables() -> dict[str, str]:
    return os.environ | openmpi.environment() | Placement().rank_environment()


@pytest.fixture(scope="module")
@starts_processes
def measured() -> dict:
    """The metrics of a run on two ranks, of which one only waits."""
    words = ["--example", "receives-in-circle", "--after", "1"]
    done = subprocess.run(
        engine(2, *words), cwd=ROOT, env=variables(), capture_output=True, text=True, timeout=limit(60)
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["metrics"]


@pytest.mark.parametrize(
    "values, words",
    [
        ({"example": "no-such-hang"}, "There is no example no-such-hang"),
        ({"example": "../good/short"}, "There is no example"),
        ({"after": 0.1}, "after"),
    ],
)
def test_wrong_params_are_refused(values: dict, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        WORKLOAD.check(values)


def test_a_learners_limit_counts_the_ranks_of_the_program() -> None:
    assert WORKLOAD.processes is not None
    for name in ("receives-in-circle", "rows-and-columns"):
        assert WORKLOAD.processes(WORKLOAD.check({"example": name})) == example(name).size


def test_every_hang_that_is_ended_is_a_guided_failure() -> None:
    ended = {name for name, hang in examples().items() if hang.kind not in MOVING}
    assert {failure.params["example"] for failure in HANGS} == ended and len(ended) >= 25
    assert not {failure.name for failure in HANGS} & {failure.name for failure in failures(2)}, "they have a page"
    assert {failure.sides for failure in HANGS} == {("broken",)}


@pytest.mark.parametrize("failure", HANGS, ids=lambda failure: failure.name)
def test_nothing_gives_the_answer_away(failure) -> None:
    prediction, hang = failure.prediction, example(failure.params["example"])
    assert prediction.answer == cause(hang.kind, hang.ranks) and prediction.options == options(hang)
    assert len(set(prediction.options)) == 4 and prediction.answer in prediction.options
    before = f"{failure.title} {failure.shows} {prediction.program}"
    assert hang.title not in before and hang.name not in before and f"Kind: {hang.kind}" not in before
    assert prediction.program.count("\n") == hang.path.read_text().count("\n"), "the diagnosis names lines"
    assert compile(prediction.program, "work.py", "exec")
    assert WORKLOAD.check(failure.params_of("broken"))
    assert command(failure, "broken") == f"workshop run hang --example {hang.name} --ranks 1"
    parts = [option.split(": ") for option in prediction.options]
    assert len({ranks for ranks, _ in parts}) == 1 or set(Counter(chain(*parts)).values()) == {2}


def test_wrong_options_are_other_causes() -> None:
    right = Counter(prediction.options.index(prediction.answer) for prediction in (each.prediction for each in HANGS))
    assert set(right) == {0, 1, 2, 3}, "the answer stands at each place"
    for kind, entry in KINDS.items():
        wrong = entry.get("wrong", [])
        assert kind not in wrong and len({*wrong}) in (0, 4) and {*wrong} <= KINDS.keys() and entry["fix"][-1] == "."


def test_ranks_stand_beside_their_lines() -> None:
    states = rows(STATES)
    assert states == [
        ["0", "Recv from rank 1, tag 7", "work.py:2"],
        ["1", "has ended", ""],
        ["2", "raised (a  b)", "work.py:2"],
    ]
    assert marked("a = 1\nb = 2\n", states).splitlines() == ["   1  a = 1", ">  2  b = 2    <-- ranks 0 and 2"]


def test_a_rank_of_another_job_keeps_its_variables(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", "MPI4PY_LIBMPI", "PRTE_LAUNCHED"):
        monkeypatch.setenv(name, "of the job")
    monkeypatch.setenv("OMPI_MCA_btl", "self,sm")
    for rank in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.delenv(rank, raising=False)
    assert environment(str(tmp_path))["MPI4PY_LIBMPI"] == "of the job", "no rank asks: somebody's own choice"
    monkeypatch.setenv("PMI_RANK", "0")
    here = environment(str(tmp_path))
    assert "of the job" not in here.values() and here["OMPI_MCA_btl"] == "self,sm" and "PMI_RANK" not in here


@pytest.mark.real
def test_a_run_names_the_hang(measured: dict) -> None:
    hang = example("receives-in-circle")
    assert (measured["kind"], tuple(measured["ranks"]), measured["hang"]) == (hang.kind, hang.ranks, True)
    assert len(measured["lines"]) == hang.size and measured["fix"] == KINDS[hang.kind]["fix"]
    assert 1 <= measured["seconds"]["still"] < measured["seconds"]["run"]
    assert str(hang.path.parent) not in json.dumps(measured)
    places = [int(place.rpartition(":")[2]) for _, _, place in rows(measured["lines"])]
    program = hang.path.read_text().splitlines()
    assert places and all(".recv(" in program[place - 1].lower() for place in places)


def ended(store: Store, session: SessionRecord, metrics: dict) -> RunRecord:
    run = store.submit(session.id, "hang", {"example": "receives-in-circle"}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.put_artifact(run.id, PROGRAM, "text/x-python", example("receives-in-circle").path.read_bytes())
    store.finish(run.id, "completed", metrics=metrics)
    return store.run(run.id)


@pytest.mark.real
def test_its_page_shows_ranks_and_lines(store: Store, measured: dict) -> None:
    run = ended(store, seed.session(store), measured)
    card = shown(store, run)["hang"]
    assert part(card, "table")["rows"] == rows(measured["lines"])
    assert part(card, "code")["text"].count("<-- rank") >= 1
    said = verdict(run, {})
    assert measured["sentence"] in said["why"]
    assert said["verdict"] == "Ranks 0 and 1: receives in a circle." and said["next"] == measured["fix"]


def test_a_program_that_ends_is_no_hang(store: Store) -> None:
    run = ended(store, seed.session(store), {"kind": "", "ranks": [], "seconds": {"run": 2.0}})
    assert verdict(run, {})["verdict"] == "No hang was seen."
    assert part(shown(store, run)["hang"], "code")["text"].startswith("   1  ")


def programs(process: psutil.Process, name: str) -> list[psutil.Process]:
    """The processes below this one that name a program: `workshop watch`, mpirun and all ranks; empty before all are
    there."""
    started = []
    for child in process.children(recursive=True):
        with suppress(psutil.Error):
            started += [child] if "".join(child.cmdline()[-1:]).endswith(f"{name}.py") else []
    return started if len(started) >= example(name).size + 2 else []


@pytest.mark.real
def test_a_stop_ends_the_program() -> None:
    started: list[psutil.Process] = []

    def stopped() -> bool:
        started[:] = started or programs(psutil.Process(), "ring-of-sends")
        return bool(started)

    assert watch(example("ring-of-sends"), 10, stopped) == []
    assert started
    until(lambda: not any(map(processes.alive, started)), 20, "the end of all processes")


@pytest.mark.real
def test_a_killed_rank_leaves_no_process() -> None:
    words = ["--example", "ring-of-sends", "--after", "10"]
    with subprocess.Popen([sys.executable, "-m", "workshop.engine", "hang", *words], cwd=ROOT, env=variables()) as rank:
        try:
            started = until(lambda: programs(psutil.Process(rank.pid), "ring-of-sends"), 60, "the ranks")
        finally:
            rank.kill()
    until(lambda: not any(map(processes.alive, started)), 20, "the end of all processes")
