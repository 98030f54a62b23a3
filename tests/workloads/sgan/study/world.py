"""A machine of two cores that runs the guided study's trials in no time: what each would measure, by a formula."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.report.analysis import cases
from workshop.core.placement import Placement
from workshop.store.records import RunRecord, SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.guided.kind import more
from workshop.study.guided.plan import Setting, plan
from workshop.study.kinds import Sofar, read
from workshop.workloads.sgan.study.facts import GUIDE

CORES = 2
EVALUATIONS = 30
GROWTH = {"predict": 2e6, "predict_on_batch": 0.0, "compiled": 0.0}  # bytes that an evaluation adds
Rate = Callable[[Mapping[str, Any], Placement], float]


def rate(params: Mapping[str, Any], where: Placement) -> float:
    """Images/s of training: one core does 600; two threads of a rank gain a fifth, two ranks nearly double it."""
    environment = where.rank_environment()
    if where.bind_to == "core" and where.cores_per_rank == 1 and where.ranks == 1:
        return 550.0
    intra = int(environment["TF_NUM_INTRAOP_THREADS"]) or CORES
    cores = where.ranks * min(intra, max(CORES // where.ranks, 1))
    speed = 600.0 * (1.2 if where.ranks == 1 and cores > 1 else min(cores, CORES) * 0.95)
    crowd = where.ranks * intra / CORES
    if crowd > 1:
        speed *= 0.8 / crowd
    if where.environment.get("OMPI_MCA_mpi_yield_when_idle") == "0":
        speed *= 0.8
    return speed * {"openmpi": 1.0, "mpich": 0.7, "intelmpi": 1.1}[where.mpi]


def metrics(params: Mapping[str, Any], where: Placement, repeat: int, how: Rate = rate) -> dict[str, Any]:
    """What a trial tells; repeats differ by two percent."""
    speed = how(params, where) * (1.0, 1.02, 0.99)[(repeat - 1) % 3]
    images = params["iterations"] * params["batch"] * where.ranks
    every = params["evaluate_every"] * (1 if params.get("evaluate_unit") == "iterations" else 1 / where.ranks)
    evaluations = max(int(params["iterations"] / every), 1)
    each = 0.4 * {"predict": 1.5}.get(params.get("inference", "compiled"), 1.0)
    each /= where.ranks if params.get("evaluate_by") != "rank0" else 1
    return {
        "images_per_second": speed,
        "exchange": "mpi",
        "evaluations": evaluations,
        "memory": [6e8] * where.ranks,
        "iterations": params["iterations"],
        "measured_steps": params["iterations"],
        "phases": {"compute": [0.9 * images / speed] * where.ranks, "wait": [0.1 * images / speed] * where.ranks},
        "seconds": {"prepare": 2.0, "train": images / speed, "evaluate": evaluations * each},
        "threads": [
            {
                "main": {"count": 1, "busy": 1, "seconds": 5.0},
                "intra-op": {"count": 2, "busy": 2, "seconds": 3.0},
                "zeromq": {"count": 3, "busy": 0, "seconds": 0.0},
            }
        ]
        * where.ranks,
    }


def setting(**more: Any) -> Setting:
    mpis = more.pop("mpis", ("openmpi",))
    given = {"data": "digits", **more.pop("given", {})}
    return plan(GUIDE, given, more.pop("cores", CORES), mpis, **more)


class World:
    """Trials and their runs without a store."""

    def __init__(self, of: Setting, how: Rate = rate, failing: Callable[[Trial], bool] = lambda _: False) -> None:
        self.setting, self.how, self.failing = of, how, failing
        self.trials: list[Trial] = []
        self.runs: dict[int, RunRecord] = {}

    @property
    def sofar(self) -> Sofar:
        study = StudyRecord(
            1, "path", "sgan", self.setting.description(), "running", "", 0.0, None, len(self.trials), 0, 0
        )
        return Sofar(study, self.trials, self.runs)

    def step(self) -> list[Trial]:
        """Ask for more, and run it. Returns what was asked for; nothing: the study is complete."""
        wanted = more(GUIDE, self.sofar)
        for trial in wanted:
            self.trials.append(trial if trial.error else self._run(trial))
        return wanted

    def complete(self, most: int = 200) -> list[Trial]:
        for _ in range(most):
            if not self.step():
                return self.trials
        raise AssertionError("the study never ends")

    def _run(self, trial: Trial) -> Trial:
        number = len(self.runs) + 1
        failed = self.failing(trial)
        told = {} if failed else metrics(trial.params, Placement.parse(trial.placement), trial.repeat, self.how)
        error = {"type": "MemoryError", "message": "no room"} if failed else None
        self.runs[number] = record(number, trial, "failed" if failed else "completed", told, error)
        return replace(trial, run_id=number)


def record(
    number: int, trial: Trial, became: Any, told: dict[str, Any], error: dict[str, Any] | None = None
) -> RunRecord:
    at = 1000.0 + 12 * number
    return RunRecord(
        number, 1, "class", "sgan", became, trial.params, trial.placement, "", None, True, None, None, told, None,
        error, [], None, at, at + 4, at + 12, False,
    )  # fmt: skip


def study(
    store: Store, session: SessionRecord, steps: str = GUIDE.keys, of: Setting | None = None, ended: int | None = None
) -> StudyRecord:
    """A guided study in a store, of which these steps have been run; or only its first `ended` trials."""
    made = runner.begin(store, of or setting(steps=steps))
    store.take_study(made.id, "seed")
    count = 0
    while further := wanted(store, made.id):
        store.add_trials(made.id, "seed", further)
        for trial in further:
            if ended is not None and count >= ended:
                return store.study(made.id)
            count += 1
            if trial.error is None:
                end(store, session, made.id, trial)
    store.finish_study(made.id, "seed", "completed")
    store.leave_study(made.id, "seed")
    return store.study(made.id)


def wanted(store: Store, study_id: int) -> list[Trial]:
    """What the study asks for beyond what it has."""
    return more(GUIDE, Sofar(store.study(study_id), *read(store, study_id)))


def end(store: Store, session: SessionRecord, study_id: int, trial: Trial) -> None:
    """Have one trial run to its end."""
    where = Placement.parse(trial.placement)
    run = store.submit(session.id, "sgan", trial.params, trial.placement, measured=True, trial=(study_id, trial.number))
    store.take_next(session.id)
    units = [[unit] for unit in range(where.ranks)] if where.ranks <= CORES else [[0, 1]] * where.ranks
    store.set_run(run.id, rank_map=cases.rank_map(*units), machine=cases.machine(CORES))
    now = time.time()
    grows = GROWTH[trial.params.get("inference", "compiled")]
    told = [
        (now + number, "memory", 2 * number, 6e8 + grows * number + 1e5 * (number % 3)) for number in range(EVALUATIONS)
    ]
    store.add_events(run.id, 0, 1, told)
    store.finish(run.id, "completed", metrics=metrics(trial.params, where, trial.repeat))
