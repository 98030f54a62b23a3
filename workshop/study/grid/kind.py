"""Grid studies as a kind of study: their further trials, their report, and the verdict with why and next.

The verdict names a winner only if the repeats show one. Cells whose ranges overlap may be equally fast, and of cells
with less than three runs it can't tell. It also says how much each axis matters.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import run_command
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import results, verdicts
from workshop.study.grid import axes as axes_of
from workshop.study.grid import plan
from workshop.study.grid.axes import VARIABLE
from workshop.study.grid.plan import REPEATS
from workshop.study.kinds import Kind, Report, Sofar, read
from workshop.study.results import CellResult, cell_effects
from workshop.study.trials import Cell, impossible, interleave, with_seeds


@dataclass(frozen=True)
class GridReport(Report):
    """A grid study and what it has found."""

    rows: list[CellResult]  # in the grid's order
    best: CellResult | None
    command: str  # that runs the best cell; may be empty

    @property
    def axes(self) -> Mapping[str, Sequence[Any]]:
        axes: Mapping[str, Sequence[Any]] = self.study.description["axes"]
        return axes

    def findings(self) -> dict[str, Any]:
        return {
            **self.study.description,
            "rows": [row.as_json() for row in self.rows],
            "winner": self.best.as_json() if self.best else None,
            "command": self.command or None,
        }


def title(study: StudyRecord) -> str:
    """A grid study in a few words: its own title, or what is varied."""
    description = study.description
    names = [axis.removeprefix(VARIABLE).removeprefix(axes_of.PARAM) for axis in description["axes"]]
    return description["title"] or f"{study.workload} over {' × '.join(names)}"


def grid_report(store: Store, study: StudyRecord) -> GridReport:
    """The report on a grid study."""
    trials, runs = read(store, study.id)
    description = study.description
    cells = results.results(trials, runs, description["rate"])
    rows = sorted(  # in the grid's order
        cells,
        key=lambda row: [
            list(values).index(row.point[name]) if row.point.get(name) in values else -1
            for name, values in description["axes"].items()
        ],
    )
    best = results.best(rows)
    command = command_of(study.workload, best) if best else ""
    seeds = seed_by_seed(rows, trials, runs, description["rate"]) if description.get("seeds") else {}
    texts = verdict(rows, description["unit"], study.finished_at is not None, command, **seeds)
    return GridReport(study, trials, runs, texts, rows, best, command)


def more(sofar: Sofar) -> list[Trial]:
    """The next cell of the sampler, then repeats of the best cells."""
    description = sofar.study.description
    cells = results.results(sofar.trials, sofar.runs, description["rate"])
    if description["sampler"] and len(cells) < description["sampler"]["trials"]:
        point = propose(
            description["axes"], description["sampler"], cells, lambda point: not _cell(sofar.study, point).why
        )
        if point is not None:
            first = max((trial.number for trial in sofar.trials), default=0) + 1
            return with_seeds(interleave([_cell(sofar.study, point)], description["repeats"], first), description)
    return with_seeds(best_again(sofar.trials, cells, description["best"], description["repeats"]), description)


def best_again(
    trials: Sequence[Trial], cells: Sequence[CellResult], best: Mapping[str, int] | None, repeats: int, first: int = 0
) -> list[Trial]:
    """Trials, numbered from `first`, that repeat each of the `best["cells"]` best cells, interleaved, until it has
    `best["repeats"]` runs; `best["slowest"]`: so many of the slowest, too.

    If a repeated cell falls behind, the next best cell is repeated, too, until twice as many cells have been repeated.
    This limit keeps the study finite on a noisy machine. Failed trials count as runs for the same reason.
    """
    if not best:
        return []
    tried = Counter(results.cell_key(trial.label, trial.point) for trial in trials)
    begun = {key for key, times in tried.items() if times > repeats}
    lacking: list[CellResult] = []
    ranked = results.ranked(cells)
    for cell in [*ranked[: best["cells"]], *ranked[best["cells"] :][-best.get("slowest", 0) or len(ranked) :]]:
        key = results.cell_key(cell.label, cell.point)
        if tried[key] >= best["repeats"]:
            continue
        if key in begun or len(begun) < 2 * best["cells"]:
            begun.add(key)
            lacking.append(cell)
    repeats_to_run: list[Trial] = []
    first = first or max((trial.number for trial in trials), default=0) + 1
    for already in sorted({tried[results.cell_key(cell.label, cell.point)] for cell in lacking}):
        equally_run = [cell for cell in lacking if tried[results.cell_key(cell.label, cell.point)] == already]
        rounds = best["repeats"] - already
        cells_to_run = [Cell(cell.label, cell.params, cell.placement, cell.point) for cell in equally_run]
        new_trials = interleave(cells_to_run, rounds, repeat=already + 1)
        repeats_to_run += [
            replace(trial, number=first + len(repeats_to_run) + at) for at, trial in enumerate(new_trials)
        ]
    return repeats_to_run


def total(sofar: Sofar) -> int:
    """The number of trials if the best cells stay the best."""
    description = sofar.study.description
    rounds = [trial for trial in sofar.trials if trial.repeat <= description["repeats"]]
    cells = len(results.results((trial for trial in rounds if not impossible(trial)), sofar.runs, description["rate"]))
    to_come = 0
    if description["sampler"]:
        to_come = max(min(description["sampler"]["trials"], axes_of.count(description["axes"])) - cells, 0)
    planned_runs: int = len(rounds) + to_come * description["repeats"]
    return max(
        planned_runs + plan.repeat_count(description["best"], description["repeats"], cells + to_come),
        len(sofar.trials),
    )


def _cell(study: StudyRecord, point: Mapping[str, Any]) -> Cell:
    description = study.description
    return axes_of.cell(
        point, workload(study.workload), description["params"], description["placement"], description["shared"]
    )


def command_of(name: str, cell: CellResult) -> str:
    """The command line that runs a cell again; empty if it can't be had."""
    try:
        chosen = workload(name)
        return run_command(chosen, named(chosen.params, cell.params), Placement.parse(cell.placement))
    except BadInput:  # the workload or one of its settings no longer exists
        return ""


ATTEMPTS = 60  # times that Optuna is asked for a cell that is new and possible
FIRST = (4, 10)  # least and most cells at random before there is a model


def propose(
    axes: axes_of.Axes, sampler: Mapping[str, Any], tried: Sequence[CellResult], able: Callable[[dict[str, Any]], bool]
) -> dict[str, Any] | None:
    """The next point to try, at random or by Optuna's tree-structured Parzen estimator: a new point that `able`
    accepts; None if there is none. `sampler` has name, trials and seed; `tried` are the cells so far, in their order.

    The sampler is told all stored cells for each choice, with a seed that depends on their number. So a resumed study
    makes the same choices.
    """
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed, first = (sampler["seed"] * 1_000_003 + len(tried)) % 2**32, sampler["trials"] // 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        tpe = optuna.samplers.TPESampler(seed=seed, n_startup_trials=min(max(first, FIRST[0]), FIRST[1]))
    at_random = optuna.samplers.RandomSampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=at_random if sampler["name"] == "random" else tpe)
    indices: dict[str, BaseDistribution] = {
        name: IntDistribution(0, len(values) - 1)
        if all(type(value) in (int, float) for value in values) and list(values) == sorted(values)
        else CategoricalDistribution(range(len(values)))
        for name, values in axes.items()
    }
    for cell in tried:
        if all(cell.point.get(name) in values for name, values in axes.items()):
            at = {name: list(values).index(cell.point[name]) for name, values in axes.items()}
            state = TrialState.COMPLETE if cell.rates else TrialState.FAIL
            study.add_trial(optuna.trial.create_trial(state=state, value=cell.median, params=at, distributions=indices))
    keys = {results.cell_key("", cell.point) for cell in tried}
    suggestions = (study.ask(indices).params for _ in range(ATTEMPTS))
    suggested = ({name: axes[name][at] for name, at in suggestion.items()} for suggestion in suggestions)
    points = itertools.chain(suggested, itertools.islice(axes_of.points(axes), plan.MOST_TRIALS))
    return next((point for point in points if results.cell_key("", point) not in keys and able(point)), None)


LISTED = 3  # cells that a sentence names


def verdict(cells: Sequence[CellResult], unit: str, finished: bool, command: str = "", **seeds: Any) -> dict[str, str]:
    """Verdict, why and next. `command` runs the best cell; `seeds` are the facts of `seed_by_seed`."""
    measured, order = results.ranked(cells), results.enough(cells)
    named = verdicts.facts(cells, unit, finished) | {"command": command, **seeds}
    if len(measured) > 1:
        leads = len(order) > 1 and order[0] is measured[0]
        tied, usual = results.ties(order) if leads else measured, results.noise(cells)
        rivals, more = [cell.label for cell in tied[1 : LISTED + 1]], len(tied) - 1 - LISTED
        named |= {
            "second": order[1] if leads else measured[1],
            "worst": order[-1] if leads else measured[-1],
            "leads": leads,
            "tied": tied,
            "compared": len(order),
            "others": words.listed([*rivals, f"{more} more"] if more > 0 else rivals),
            "most": "fastest" if unit.endswith("/s") else "best",
            "least": "slowest" if unit.endswith("/s") else "worst",
            "repeats": min(max(3 * max(len(cell.rates) for cell in measured), 5), REPEATS),
            "effects": [
                f"{effect.axis} " + (words.times(effect.factor) if effect.exceeds(usual) else "can't be told")
                for effect in cell_effects(cells)
            ],
        }
    return verdicts.verdict(plan.KIND, named)


def seed_by_seed(
    cells: Sequence[CellResult], trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str
) -> dict[str, Any]:
    """Facts of a comparison of the two best cells, seed by seed, for a study whose repeats have seeds. It can show a
    difference also where the ranges of the repeats overlap."""
    order = results.ranked(cells)
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for trial in trials:
        if (value := results.rate_of(runs.get(trial.run_id or 0), rate)) is not None:
            values[results.cell_key(trial.label, trial.point)][trial.repeat] = value
    first, second = (values[results.cell_key(cell.label, cell.point)] for cell in order[:2]) if order[1:] else ({}, {})
    pair = results.Paired(tuple((first[repeat], second[repeat]) for repeat in sorted(first.keys() & second.keys())))
    if len(pair.pairs) < 2:
        return {}
    return {
        "rival": order[1],
        "seeds": len(pair.pairs),
        "better": pair.better,
        "mean": pair.mean,
        "error": results.standard_error(pair.differences) or 0.0,
        "seeds_agree": pair.sure and pair.better == len(pair.pairs) and len(results.ties(results.enough(cells))) == 2,
    }


KIND = Kind(plan.KIND, title, grid_report, more, total, cards="workshop.study.grid.cards:cards")
