"""The tuner compared with an exhaustive search of the same grid: the quality of its pick, and its cost.

The grid is run once, with cells as long as the tuner's trials. The tuner is run once for each seed, with its own runs.
The largest of many noisy figures is partly lucky. So the picks, the grid's best cell and the naive start are measured
again, in turn, and ratios are medians over rounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop import bench
from workshop.bench import own_state
from workshop.core import machines
from workshop.core.errors import WorkshopError
from workshop.registry import workload as workload_of
from workshop.report.activity import duration
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.study import runner, trial_monitor
from workshop.study.results import rate_of
from workshop.study.trials import Cell, interleave
from workshop.study.tune.kind import tune_report
from workshop.study.tune.plan import TuneLimits, offer_here, plan
from workshop.study.tune.search import length, spent
from workshop.study.tune.study import Point, TuneStudy, key, label

WORKLOAD = "sgan"
PARAMS = {"data": "digits"}  # which every machine has, also without a network
SEEDS = (0, 1, 2)
REPEATS = 6
# 32 cells on two cores, without impossible and duplicate ones.
GRID = TuneLimits(threads=(1, 2, 4), knobs={"env.HOROVOD_CYCLE_TIME": (None,)}, yields=("1",))
# To see that the bench works.
QUICK: dict[str, Any] = {
    "repeats": 1,
    "seeds": (0,),
    "name": "kmeans",
    "grid": TuneLimits(ranks=(1, 2), threads=(1,), knobs={"backend": ("numba",)}, yields=("1",)),
    "params": {"points": 60_000, "clusters": 8, "iterations": 20},
}
SHARE = 0.25  # of the grid's cost, which the tuner must not exceed
MARGIN = 0.96  # of that share: the time of a trial is known only at its end
SECONDS = 300.0  # for one run; it takes about ten
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel", "optuna")


@dataclass(frozen=True)
class SearchResult:
    """The result of one search."""

    point: Point
    seconds: float  # of its runs
    trials: int
    pruned: int = 0


def run(
    repeats: int = REPEATS,
    seeds: Sequence[int] = SEEDS,
    name: str = WORKLOAD,
    grid: TuneLimits = GRID,
    params: Mapping[str, Any] = PARAMS,
    progress: bench.Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Measure; returns the bench as JSON. `say` gets the estimated time beforehand. Raises WorkshopError if a compared
    run fails."""
    chosen = workload_of(name)
    with own_state(), Store.open() as store:
        where = bench.machine(PACKAGES)
        tune_study = plan(chosen, params, machines.this(), offer=offer_here(chosen), limits=grid)
        first = tune_study.cell(tune_study.begin[0], {tune_study.length.param: tune_study.length.value})
        with private_session(store, client.placement_in(None, first.placement)) as session:
            runs = BenchRuns(store, session, chosen.name, tune_study, say)
            # This run isn't counted. It fills the caches and determines the length of trials.
            warm = runs.done(first)
            trial = replace(interleave([first], 1)[0], run_id=warm.id)
            value = length(tune_study, [trial], {warm.id: warm})[tune_study.length.param]
            tune_study = replace(tune_study, length=replace(tune_study.length, fixed=True, value=value))
            runs.tune_study = tune_study
            points = tune_study.points()
            # Seeds with the same pick are one contender. The number of the tuner's runs isn't known beforehand.
            total = len(points) + round(len(seeds) * len(points) * SHARE) + repeats * min(2 + len(seeds), 4)
            minutes = max(round(total * spent([trial], {warm.id: warm}) / 60), 1)
            planned = f"{len(points)} cells once, the tuner {len(seeds)} times, {repeats} rounds of what they found"
            say(f"{planned}: about {minutes} min.")
            done = 0

            def count_run() -> None:
                nonlocal done
                done += 1
                progress(min(done, total), total)

            rates: dict[str, float | None] = {}
            try:
                best = exhaustive(runs, points, count_run, rates)
                budget = SHARE * MARGIN * best.seconds
                tuned_by_seed = {seed: tuned(runs, budget, seed, count_run) for seed in seeds}
                compared = {
                    key(point): point
                    for point in (tune_study.naive, best.point, *(search.point for search in tuned_by_seed.values()))
                }
                contenders = {which: runs.turn(point) for which, point in compared.items()}
                total = done + len(contenders) * repeats
                results = bench.interleaved(
                    contenders, repeats, lambda turn, _: progress(done + turn, total), mirrored=True, warm_up=0
                )
            except KeyboardInterrupt:
                if not rates:
                    raise
                cells = [{"name": name, "value": rate, "unit": tune_study.unit} for name, rate in rates.items()]
                return bench.document("tune", where, cells, {})
    return document(where, tune_study, best, rates, tuned_by_seed, results)


class BenchRuns:
    """Measures one workload in a session, one run at a time."""

    def __init__(
        self, store: Store, session: SessionRecord, workload: str, tune_study: TuneStudy, say: Callable[[str], None]
    ) -> None:
        self.store, self.session, self.workload, self.tune_study = store, session, workload, tune_study
        self.say = say

    def ended(self, cell: Cell) -> RunRecord:
        """Run a cell, and return its ended run, also a failed one."""
        submitted = client.submit(self.store, self.session, self.workload, cell.params, cell.placement, measured=True)
        return client.wait(self.store, submitted.id, timeout=SECONDS, say=self.say)

    def done(self, cell: Cell) -> RunRecord:
        """Run a cell, and return its completed run. Raises WorkshopError if it doesn't complete."""
        run = self.ended(cell)
        if rate_of(run, self.tune_study.rate) is None:
            why = run.error["message"] if run.error else f"it is {run.status} and has no metric {self.tune_study.rate}"
            raise WorkshopError(f"A run that is compared ({cell.label}) did not work: {why}")
        return run

    def at(self, point: Point) -> Cell:
        """The cell at a point, with the common length of trials."""
        return self.tune_study.cell(point, {self.tune_study.length.param: self.tune_study.length.value})

    def turn(self, point: Point) -> Callable[[], float]:
        """One turn of a contender: its work per second."""
        return lambda: rate_of(self.done(self.at(point)), self.tune_study.rate) or 0.0


def exhaustive(
    runs: BenchRuns, points: Sequence[Point], count_run: Callable[[], None], rates: dict[str, float | None]
) -> SearchResult:
    """Run every cell once, in random order; returns the best. `rates` gets all rates by label (None: failed)."""
    order = random.Random(0).sample(list(points), len(points))
    best, most, seconds = None, 0.0, 0.0
    for point in order:
        run = runs.ended(runs.at(point))
        seconds += duration(run) or 0.0
        rate = rates[label(point)] = rate_of(run, runs.tune_study.rate)
        if rate is not None and rate > most:
            best, most = point, rate
        count_run()
    if best is None:
        raise WorkshopError("No cell of the grid could be run.")
    return SearchResult(best, seconds, len(order))


def tuned(runs: BenchRuns, budget: float, seed: int, count_run: Callable[[], None]) -> SearchResult:
    """The tuner on the same grid, as a study like any other."""
    store, seeded = runs.store, replace(runs.tune_study, budget=budget, seed=seed)
    study = runner.begin(store, seeded)
    last = 0

    def look(now: trial_monitor.Progress) -> None:
        nonlocal last
        if now.trial.number != last:
            last = now.trial.number
            count_run()

    with runner.working_on(store, study.id) as me:
        runner.run_study(store, study.id, me, runs.session, look)
    report = tune_report(store, store.study(study.id))
    if report.best is None:
        raise WorkshopError(f"The tuner with the seed {seed} has found nothing that runs.")
    pruned = sum(trial.pruned is not None for trial in report.trials)
    return SearchResult(dict(report.best.point), report.spent, len(report.trials), pruned)


def document(
    where: Mapping[str, Any],
    tune_study: TuneStudy,
    best: SearchResult,
    rates: Mapping[str, float | None],
    tuned_by_seed: Mapping[int, SearchResult],
    results: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """The bench as JSON. `results` are the final measurements by the key of a point. Each ratio is the worst of all
    seeds."""
    naive, winner = results[key(tune_study.naive)], results[key(best.point)]
    rows = [
        bench.row("naive", naive, tune_study.unit, placement=label(tune_study.naive)),
        bench.row("grid_best", winner, tune_study.unit, placement=label(best.point), first=rates[label(best.point)]),
    ]
    lines: dict[str, list[dict[str, Any]]] = {"tuned_vs_best": [], "tuned_vs_naive": []}
    for seed, search in tuned_by_seed.items():
        tuned_rates = results[key(search.point)]
        figures = {"placement": label(search.point), "trials": search.trials, "pruned": search.pruned}
        rows.append(bench.row(f"tuned_{seed}", tuned_rates, tune_study.unit, **figures))
        same = {"note": "the same cell as the grid's best"} if key(search.point) == key(best.point) else {}
        for name, other, more in (("tuned_vs_best", winner, same), ("tuned_vs_naive", naive, {})):
            lines[name].append(bench.ratio(f"{name}_{seed}", tuned_rates, other) | more)
    for name, search in {"grid": best, **{f"tuner_{seed}": search for seed, search in tuned_by_seed.items()}}.items():
        rows.append({"name": f"{name}_cost", "value": search.seconds, "unit": "s of runs", "runs": search.trials})
    failed = sum(rate is None for rate in rates.values())
    rows.append({"name": "cells", "value": len(rates), "unit": f"in the grid, {failed} of which failed"})
    worst = {name: min(ratio_rows, key=lambda line: line["value"]) for name, ratio_rows in lines.items()}
    ratios = {name: line["value"] for name, line in worst.items()}
    ratios["cost_vs_grid"] = max(search.seconds for search in tuned_by_seed.values()) / best.seconds
    intervals = {name: (line["low"], line["high"]) for name, line in worst.items()}
    rows += [line for ratio_rows in lines.values() for line in ratio_rows]
    cells = [{"cell": name, "rate": rate} for name, rate in sorted(rates.items(), key=lambda pair: -(pair[1] or 0.0))]
    return bench.document("tune", where, rows, ratios, intervals) | {"grid": cells, "unit": tune_study.unit}
