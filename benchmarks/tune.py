"""The tuner against an exhaustive search of the same grid: what its pick is worth, and what finding it cost.

The grid is run once, with cells as long as the tuner's trials; the tuner once for each seed. The largest of many noisy
figures is partly lucky. So the picks, the grid's best cell and the naive start are measured again, in turns. Each ratio
is the worst of all seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks import Document, document, interleaved, machine, ratio, row, say
from benchmarks.processes import SECONDS, own_state
from workshop import mpi
from workshop.core import machines
from workshop.core.errors import WorkshopError
from workshop.registry import workload as workload_of
from workshop.report.activity import duration
from workshop.sessions import client
from workshop.sessions.lifecycle import private_session
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.results import rate_of
from workshop.study.trials import Cell, interleave
from workshop.study.tune.kind import tune_report
from workshop.study.tune.plan import missing_here, plan
from workshop.study.tune.search import length
from workshop.study.tune.study import YIELD, Point, TuneStudy, key, label

Limits = tuple[Sequence[int], Mapping[str, Sequence[Any]], int]  # threads, knobs, how many points to begin with
ALONE = False  # its runs are measured ones, which hold the lock themselves
# 32 cells on two cores, without impossible and duplicate ones, and a few to see that the bench works.
GRID: Limits = ((1, 2, 4), {"env.HOROVOD_CYCLE_TIME": (None,), YIELD: ("1",)}, 3)
QUICK: Limits = ((1,), {"backend": ("numba",), YIELD: ("1",)}, 2)
PARAMS = {"sgan": {"data": "digits"}, "kmeans": {"points": 60_000, "clusters": 8, "iterations": 20}}
SHARE, MARGIN = 0.25, 0.96  # of the grid's cost that the tuner may take; the time of a trial is known only at its end


@dataclass(frozen=True)
class Found:
    """The result of one search."""

    point: Point
    seconds: float  # of its runs
    trials: int


def run(repeats: int = 4, seeds: tuple[int, ...] = (1, 2), workload: str = "sgan") -> Document:
    """Measure; returns the document. Raises WorkshopError. The workload kmeans has a few short cells alone."""
    chosen, (threads, knobs, begin) = workload_of(workload), GRID if workload == "sgan" else QUICK
    where = machine(("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel", "optuna"))
    with own_state(), Store.open() as store:
        mpis = mpi.installed()
        params, absent = PARAMS.get(workload, {}), missing_here(chosen, mpis)
        study = plan(chosen, params, machines.this(), budget=SECONDS, mpis=mpis, missing=absent)
        study = replace(study, threads=threads, knobs={**study.knobs, **knobs}, begin=study.begin[:begin])
        first = study.cell(study.begin[0], {})
        with private_session(store, client.placement_in(None, first.placement)) as session:
            ran = partial(_ran, store, session, workload)
            warm = ran(first)  # fills the caches and determines the length of trials
            value = length(study, [replace(interleave([first], 1)[0], run_id=warm.id)], {warm.id: warm})
            study = replace(study, params={**study.params, **value}, fixed=True)
            points = study.points()
            say(f"{len(points)} cells once, the tuner {len(seeds)} times, {repeats} rounds of what they found.")
            best, rates = exhaustive(study, lambda point: ran(study.cell(point, {})))
            budget = SHARE * MARGIN * best.seconds
            searches = {seed: tuned(store, session, replace(study, budget=budget, seed=seed)) for seed in seeds}
            compared = [study.naive, best.point, *(search.point for search in searches.values())]

            def turn(point: Point) -> float:
                if (rate := rate_of(ran(study.cell(point, {})), study.rate)) is None:
                    raise WorkshopError(f"A run that is compared ({label(point)}) did not work.")
                return rate

            turns: dict[str, Callable[[], float]] = {key(point): partial(turn, point) for point in compared}
            results = interleaved(turns, repeats, warm_up=0)
    naive, winner = results[key(study.naive)], results[key(best.point)]
    rows = [
        row("naive", naive, study.unit, placement=label(study.naive)),
        row("grid_best", winner, study.unit, placement=label(best.point), first=rates[label(best.point)]),
        {"name": "grid_cost", "value": best.seconds, "unit": "s of runs", "runs": best.trials},
    ]
    lines = []
    for seed, search in searches.items():
        found = results[key(search.point)]
        rows.append(row(f"tuned_{seed}", found, study.unit, placement=label(search.point), trials=search.trials))
        rows.append({"name": f"tuner_{seed}_cost", "value": search.seconds, "unit": "s of runs", "runs": search.trials})
        lines += [ratio("tuned_vs_best", found, winner, seed=seed), ratio("tuned_vs_naive", found, naive, seed=seed)]
    for name in ("tuned_vs_best", "tuned_vs_naive"):
        rows.append(min((line for line in lines if line["name"] == name), key=lambda line: line["value"]))
    failed = sum(rate is None for rate in rates.values())
    rows.append({"name": "cells", "value": len(rates), "unit": f"in the grid, {failed} of which failed"})
    cost = max(search.seconds for search in searches.values()) / best.seconds
    return document(where, rows, {"cost_vs_grid": cost}) | {"grid": rates, "unit": study.unit}


def exhaustive(study: TuneStudy, ran: Callable[[Point], RunRecord]) -> tuple[Found, dict[str, float | None]]:
    """Run every cell once, in random order; returns the best, and all rates by label (None: failed)."""
    points = list(study.points())
    rates: dict[str, float | None] = {}
    best, most, seconds = None, 0.0, 0.0
    for number, point in enumerate(random.Random(0).sample(points, len(points)), 1):
        done = ran(point)
        seconds += duration(done) or 0.0
        rate = rates[label(point)] = rate_of(done, study.rate)
        say(f"Cell {number} of {len(points)}: {label(point)}.")
        if rate is not None and rate > most:
            best, most = point, rate
    if best is None:
        raise WorkshopError("No cell of the grid could be run.")
    return Found(best, seconds, len(points)), rates


def tuned(store: Store, session: SessionRecord, seeded: TuneStudy) -> Found:
    """The tuner on the same grid, as a study like any other."""
    study = runner.begin(store, seeded)
    with runner.working_on(store, study.id) as me:
        runner.run_study(store, study.id, me, session, lambda _: None)
    report = tune_report(store, store.study(study.id))
    if report.best is None:
        raise WorkshopError(f"The tuner with the seed {seeded.seed} has found nothing that runs.")
    return Found(dict(report.best.point), report.spent, len(report.trials))


def _ran(store: Store, session: SessionRecord, workload: str, cell: Cell) -> RunRecord:
    """The ended run of a cell, also a failed one."""
    submitted = client.submit(store, session, workload, cell.params, cell.placement, measured=True)
    return client.wait(store, submitted.id, timeout=SECONDS, say=say)
