"""The tuner against trying everything, on the same grid: how good its pick is, and what finding it cost.

The exhaustive grid is run once, every cell for as long as the tuner's trials are. The tuner is run once for each seed,
with runs of its own. Whoever took the largest of many noisy figures took a lucky one: so the picks, the grid's best
cell and the naive start are measured anew, in turn, and ratios are medians over rounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop import bench
from workshop.bench.state import own_state
from workshop.core import machines
from workshop.core.errors import WorkshopError
from workshop.registry import workload as workload_of
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.records import RunRecord, SessionRecord, Trial
from workshop.store.store import Store
from workshop.study import runner, trial_monitor
from workshop.study.kinds import read
from workshop.study.results import rate_of
from workshop.study.trials import Cell, interleave
from workshop.study.tune import costs, kind
from workshop.study.tune.plan import TuneLimits, offer_here, plan
from workshop.study.tune.report import pick, reported
from workshop.study.tune.space import Point, key, label
from workshop.study.tune.study import TuneStudy

WORKLOAD = "sgan"
GIVEN = {"data": "digits"}  # which every machine has, also without a network
SEEDS = (0, 1, 2)
REPEATS = 6
# 32 cells on two cores, once those are left out that can't be or come to the same.
GRID = TuneLimits(
    threads=(1, 2, 4),
    knobs={"exchange": ("horovod", "mpi", "mpi-per-tensor", "parameter-server")},
    yields=("1",),
    cycles=(None,),
)
# To see that the bench works.
QUICK: dict[str, Any] = {
    "repeats": 1,
    "seeds": (0,),
    "name": "kmeans",
    "grid": TuneLimits(ranks=(1, 2), threads=(1,), knobs={"backend": ("numba",)}, yields=("1",), cycles=(None,)),
    "given": {"points": 60_000, "clusters": 8, "iterations": 20},
}
SHARE = 0.25  # of the grid's cost, which the tuner must not exceed
MARGIN = 0.96  # of that, since what a trial takes is known at its end
SECONDS = 300.0  # for one run; it takes about ten
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel", "optuna")


@dataclass(frozen=True)
class SearchResult:
    """What one way of searching came to."""

    point: Point
    seconds: float  # of its runs
    trials: int
    pruned: int = 0


def run(
    repeats: int = REPEATS,
    seeds: Sequence[int] = SEEDS,
    name: str = WORKLOAD,
    grid: TuneLimits = GRID,
    given: Mapping[str, Any] = GIVEN,
    progress: bench.Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Measure; returns the bench as JSON. `say` is told beforehand how long it will take. Raises WorkshopError where a
    run of those that are compared fails."""
    chosen = workload_of(name)
    with own_state(), Store.open() as store:
        where = bench.machine(PACKAGES)
        asked = plan(chosen, given, machines.this(), offer=offer_here(chosen), limits=grid)
        first = asked.cell(asked.begin[0], {asked.length.param: asked.length.value})
        with private_session(store, client.placement_in(None, first.placement)) as session:
            runs = BenchRuns(store, session, chosen.name, asked)
            # What nobody counts: it fills the caches, and shows for how long a trial has to go on.
            warm = runs.done(first)
            trial = replace(interleave([first], 1)[0], run_id=warm.id)
            asked = replace(asked, length=replace(asked.length, fixed=True, value=_length(asked, trial, warm)))
            runs.asked = asked
            points = asked.points()
            turns = BenchProgress(len(points), len(seeds), repeats, progress)
            say(turns.words(costs.spent([trial], {warm.id: warm})))
            best, rates = exhaustive(runs, points, turns)
            budget = SHARE * MARGIN * best.seconds
            found = {seed: tuned(runs, budget, seed, turns) for seed in seeds}
            compared = {
                key(point): point for point in (asked.naive, best.point, *(one.point for one in found.values()))
            }
            contenders = {which: runs.turn(point) for which, point in compared.items()}
            done, total = turns.finals(len(contenders))
            results = bench.interleaved(
                contenders, repeats, lambda turn, _: progress(done + turn, total), mirrored=True, warm_up=0
            )
    return document(where, asked, best, rates, found, results)


def _length(asked: TuneStudy, trial: Trial, run: RunRecord) -> int:
    return costs.length(asked, [trial], {run.id: run})[asked.length.param]


class BenchRuns:
    """Measures one workload in a session, one run at a time."""

    def __init__(self, store: Store, session: SessionRecord, workload: str, asked: TuneStudy) -> None:
        self.store, self.session, self.workload, self.asked = store, session, workload, asked

    def ended(self, cell: Cell) -> RunRecord:
        """Run a cell, and return its run when that has ended, also where it failed."""
        submitted = client.submit(self.store, self.session, self.workload, cell.params, cell.placement, measured=True)
        return client.wait(self.store, submitted.id, timeout=SECONDS)

    def done(self, cell: Cell) -> RunRecord:
        """A run that completes. Raises WorkshopError where it doesn't."""
        run = self.ended(cell)
        if rate_of(run, self.asked.rate) is None:
            why = run.error["message"] if run.error else f"it is {run.status} and tells no {self.asked.rate}"
            raise WorkshopError(f"A run that is compared ({cell.label}) did not work: {why}")
        return run

    def at(self, point: Point) -> Cell:
        """The cell at a point, for as long as all of them go on."""
        return self.asked.cell(point, {self.asked.length.param: self.asked.length.value})

    def turn(self, point: Point) -> Callable[[], float]:
        """One turn of a contender: its work per second."""
        return lambda: rate_of(self.done(self.at(point)), self.asked.rate) or 0.0


def exhaustive(
    runs: BenchRuns, points: Sequence[Point], turns: BenchProgress
) -> tuple[SearchResult, dict[str, float | None]]:
    """Every cell once, in an order that has nothing to do with what they are; the best, and all rates (None: it
    failed) by label."""
    order = random.Random(0).sample(list(points), len(points))
    rates: dict[str, float | None] = {}
    best, most, seconds = None, 0.0, 0.0
    for point in order:
        run = runs.ended(runs.at(point))
        seconds += costs.took(run)
        rate = rates[label(point)] = rate_of(run, runs.asked.rate)
        if rate is not None and rate > most:
            best, most = point, rate
        turns.one()
    if best is None:
        raise WorkshopError("No cell of the grid could be run.")
    return SearchResult(best, seconds, len(order)), rates


def tuned(runs: BenchRuns, budget: float, seed: int, turns: BenchProgress) -> SearchResult:
    """The tuner on the same grid, as a study like any other."""
    store, mine = runs.store, replace(runs.asked, budget=budget, seed=seed)
    study = store.create_study(kind.NAME, runs.workload, mine.description(), [])
    last = 0

    def look(now: trial_monitor.Progress) -> None:
        nonlocal last
        if now.trial.number != last:
            last = now.trial.number
            turns.one()

    with runner.working_on(store, study.id) as me:
        runner.run_study(store, study.id, me, runs.session, look)
    trials, of = read(store, study.id)
    found = reported(store.study(study.id), trials, of)
    best = pick(found.cells, found.naive)
    if best is None:
        raise WorkshopError(f"The tuner with the seed {seed} has found nothing that runs.")
    pruned = sum(trial.pruned is not None for trial in trials)
    return SearchResult(dict(best.point), found.spent, len(trials), pruned)


class BenchProgress:
    """How far the bench is, in runs; how many the tuner takes isn't known beforehand."""

    def __init__(self, cells: int, seeds: int, repeats: int, progress: bench.Progress) -> None:
        self.cells, self.seeds, self.repeats, self.progress = cells, seeds, repeats, progress
        self.done = 0
        self.total = cells + round(seeds * cells * SHARE) + repeats * self._likely()

    def _likely(self) -> int:
        return min(2 + self.seeds, 4)  # contenders at the end: seeds that find the same are one

    def words(self, seconds: float) -> str:
        """What is ahead, when a run takes so many seconds."""
        runs = f"{self.cells} cells once, the tuner {self.seeds} times, {self.repeats} rounds of what they found"
        return f"{runs}: about {max(round(self.total * seconds / 60), 1)} min."

    def one(self) -> None:
        """Another run of the grid or the tuner."""
        self.done += 1
        self.progress(min(self.done, self.total), self.total)

    def finals(self, contenders: int) -> tuple[int, int]:
        """What is done and what there is in all, once it is known who is measured anew."""
        self.total = self.done + contenders * self.repeats
        return self.done, self.total


def document(
    where: Mapping[str, Any],
    asked: TuneStudy,
    best: SearchResult,
    rates: Mapping[str, float | None],
    found: Mapping[int, SearchResult],
    results: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """The bench as JSON. `results` are what was measured anew, by the key of a point. Ratios are those of the seed that
    did worst in each."""
    naive, winner = results[key(asked.naive)], results[key(best.point)]
    rows = [
        bench.row("naive", naive, asked.unit, placement=label(asked.naive)),
        bench.row("grid_best", winner, asked.unit, placement=label(best.point), first=rates[label(best.point)]),
    ]
    lines: dict[str, list[dict[str, Any]]] = {"tuned_vs_best": [], "tuned_vs_naive": []}
    for seed, one in found.items():
        mine = results[key(one.point)]
        told = {"placement": label(one.point), "trials": one.trials, "pruned": one.pruned}
        rows.append(bench.row(f"tuned_{seed}", mine, asked.unit, **told))
        same = {"note": "the same cell as the grid's best"} if key(one.point) == key(best.point) else {}
        for name, other, more in (("tuned_vs_best", winner, same), ("tuned_vs_naive", naive, {})):
            lines[name].append(bench.ratio(f"{name}_{seed}", mine, other) | more)
    for name, one in {"grid": best, **{f"tuner_{seed}": one for seed, one in found.items()}}.items():
        rows.append({"name": f"{name}_cost", "value": one.seconds, "unit": "s of runs", "runs": one.trials})
    failed = sum(rate is None for rate in rates.values())
    rows.append({"name": "cells", "value": len(rates), "unit": f"in the grid, {failed} of which failed"})
    worst = {name: min(of, key=lambda line: line["value"]) for name, of in lines.items()}
    ratios = {name: line["value"] for name, line in worst.items()}
    ratios["cost_vs_grid"] = max(one.seconds for one in found.values()) / best.seconds
    intervals = {name: (line["low"], line["high"]) for name, line in worst.items()}
    rows += [line for of in lines.values() for line in of]
    cells = [{"cell": name, "rate": rate} for name, rate in sorted(rates.items(), key=lambda pair: -(pair[1] or 0.0))]
    return bench.document("tune", where, rows, ratios, intervals) | {"grid": cells, "unit": asked.unit}
