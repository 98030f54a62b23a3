"""Tuning studies without runs: machines of invented speeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study.kinds import Sofar
from workshop.study.tune import kind
from workshop.study.tune.study import NAME, YIELDS, Spot, TuneStudy

CREATED = count(1.0)  # each search begins anew
Speed = Callable[[Mapping[str, Any]], float | str]  # of a point; a text: it fails with that type of error
# Two cores, as Open MPI's mapper sees them.
SPOTS = (
    Spot("openmpi", 1, "auto", "core", 1, "0"),
    Spot("openmpi", 1, "auto", "none", 1, "0-1"),
    Spot("openmpi", 2, "auto", "core", 1, "0|1"),
    Spot("openmpi", 2, "auto", "none", 1, "2*0-1"),
    Spot("openmpi", 4, "auto", "none", 1, "4*0-1"),
)
EXCHANGES = ("horovod", "mpi", "mpi-per-tensor", "parameter-server")
POLL = "env.OMPI_MCA_mpi_yield_when_idle"
VARIABLES = {"env.HOROVOD_CYCLE_TIME": (None, "0.2", "5")}


def asked(**changes: Any) -> TuneStudy:
    """A study of mnist on two cores."""
    start = {"map_by": "auto", "bind_to": "core", "cores_per_rank": 1, "mpi": "openmpi"}
    variables = {POLL: "1", "env.HOROVOD_CYCLE_TIME": None}
    naive = {**start, "ranks": 1, "threads": 2, "exchange": "horovod", **variables}
    default = {**start, "ranks": 2, "threads": 1, "exchange": "horovod", **variables}
    known = {
        "workload": "mnist",
        "rate": "images_per_second",
        "unit": "images/s",
        "params": {"batch": 128, "steps": 250, "exchange": "auto"},
        "load": {},
        "share": "batch",
        "placement": {},
        "spots": SPOTS,
        "threads": [1, 2],
        "knobs": {"exchange": EXCHANGES, **VARIABLES, POLL: YIELDS},
        "begin": [default, naive, *({**default, "exchange": exchange} for exchange in EXCHANGES[1:])],
        "cores": 2,
        "memory": 24 << 30,
        "budget": 300.0,
    }
    return TuneStudy(**{**known, **changes})


def study(of: TuneStudy, created_at: float = 0.0) -> StudyRecord:
    """Its record; Optuna's study is another one for another `created_at`."""
    return StudyRecord(1, NAME, of.workload, of.description(), "running", "", created_at, None, 0, 0, 0)


def sofar(of: TuneStudy, trials: Sequence[Trial] = (), runs: Mapping[int, RunRecord] | None = None) -> Sofar:
    return Sofar(study(of), list(trials), dict(runs or {}))


def ended(trial: Trial, speed: float | str, took: float = 10.0, **metrics: Any) -> tuple[Trial, RunRecord]:
    """A trial whose run has ended after so many seconds."""
    error = {"type": speed, "message": "it did"} if isinstance(speed, str) else None
    told = {} if error else {"images_per_second": speed, "seconds": {"train": 3.0}, **metrics}
    run = RunRecord(
        id=trial.number,
        session_id=1,
        session="test",
        workload="mnist",
        status="failed" if error else "completed",
        params=trial.params,
        placement=trial.placement,
        submitted_by="",
        identity_id=None,
        measured=True,
        rank_map=None,
        machine=None,
        metrics=told,
        verdict=None,
        error=error,
        notices=[],
        progress=None,
        queued_at=100.0 * trial.number,
        started_at=100.0 * trial.number,
        finished_at=100.0 * trial.number + took,
        cancel_requested=False,
    )
    return replace(trial, run_id=run.id), run


def searched(of: TuneStudy, speed: Speed, most: int = 200, **metrics: Any) -> tuple[list[Trial], dict[int, RunRecord]]:
    """The first `most` trials of a study, each with a run, as the runner would have them."""
    trials: list[Trial] = []
    runs: dict[int, RunRecord] = {}
    record = study(of, next(CREATED))
    while len(trials) < most and (further := kind.more(Sofar(record, trials, runs))):
        for trial in further:
            done, run = ended(trial, speed(trial.point), **metrics)
            trials, runs = [*trials, done], {**runs, run.id: run}
    return trials, runs


def untried(trial: Trial) -> Trial:
    """A trial as it is before its run."""
    return replace(trial, run_id=None, error=None, pruned=None)


def pruned(trial: Trial, run: RunRecord, rate: float) -> tuple[Trial, RunRecord]:
    """A trial that was ended early at this rate."""
    gone = {"why": "too slow", "rate": rate, "seconds": 1.1}
    return replace(trial, run_id=run.id, pruned=gone), replace(run, status="cancelled", metrics={})
