"""Grid studies as a kind of study: their further trials, their report, and the verdict with why and next.

The verdict names a winner only if the repeats show one. Cells whose ranges overlap may be equally fast, and of cells
with less than three runs it can't tell. It also says how much each axis matters.
"""

from __future__ import annotations

import random
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
from workshop.study import results
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
    texts = verdict(rows, description["unit"], study.finished_at is not None, command)
    if description.get("seeds"):
        texts = seed_by_seed(texts, rows, trials, runs, study, command)
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


ATTEMPTS = 60  # times that Optuna is asked for a cell that is new and can be
SAMPLED = 2000  # cells that are looked at where it gives none
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

    tried_keys = {results.cell_key("", cell.point) for cell in tried}
    if len(tried_keys) >= axes_of.count(axes):
        return None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed, by_index, indices = sampler["seed"] * 1_000_003 + len(tried), {}, {}
    for name, values in axes.items():
        ordered = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        by_index[name] = sorted(values) if ordered else list(values)
        each: BaseDistribution = (
            IntDistribution(0, len(values) - 1) if ordered else CategoricalDistribution(range(len(values)))
        )
        indices[name] = each
    first = min(max(sampler["trials"] // 4, FIRST[0]), FIRST[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        tpe = optuna.samplers.TPESampler(seed=seed % 2**32, n_startup_trials=first, multivariate=True)
    at_random = optuna.samplers.RandomSampler(seed=seed % 2**32)
    study = optuna.create_study(direction="maximize", sampler=at_random if sampler["name"] == "random" else tpe)
    completed, failed = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL
    for cell in tried:
        if all(name in cell.point and cell.point[name] in values for name, values in by_index.items()):
            at = {name: values.index(cell.point[name]) for name, values in by_index.items()}
            state = completed if cell.rates else failed
            study.add_trial(optuna.trial.create_trial(state=state, value=cell.median, params=at, distributions=indices))
    for _ in range(ATTEMPTS):
        suggestion = study.ask(indices)
        point = {name: values[suggestion.params[name]] for name, values in by_index.items()}
        if results.cell_key("", point) not in tried_keys and able(point):
            return point
        study.tell(suggestion, state=failed)  # which neither counts for the model nor comes again for that
    draw = random.Random(seed)
    others = axes_of.sample(axes, SAMPLED, draw.randrange(2**31))
    draw.shuffle(others)
    return next((point for point in others if results.cell_key("", point) not in tried_keys and able(point)), None)


LISTED = 3  # cells that a sentence names
MOST_BEST = 9  # cells that it advises to repeat


def verdict(cells: Sequence[CellResult], unit: str, finished: bool, command: str = "") -> dict[str, str]:
    """Verdict, why and next. `command` runs the best cell."""
    measured, order = results.ranked(cells), results.enough(cells)
    if len(measured) < 2:
        return too_little(cells, measured, unit, finished)
    best, usual = measured[0], results.noise(cells)
    most, least = ("fastest", "slowest") if unit.endswith("/s") else ("best", "worst")
    why, tied = [_reached(best, unit)], measured
    if len(order) < 2 or order[0] is not best:
        sentence = (
            f"{words.capital(best.label)} reached the most, {_rate(best, unit)}; can't tell whether it is the {most}, "
            f"which takes {results.ENOUGH} runs of each."
        )
    else:
        tied, second, worst = results.ties(order), order[1], order[-1]
        times = (best.median or 0.0) / (worst.median or 1.0)
        against = f"{worst.label}, reached {_rate(worst, unit)}{_between(worst)}: {times:.2f}× between them."
        if len(tied) == len(measured):
            sentence = f"Can't tell which is the {most}: all {len(order)} cells are within what repeats differ by."
        elif len(tied) > 1:
            names, more = [cell.label for cell in tied[1 : LISTED + 1]], len(tied) - 1 - LISTED
            others = words.listed([*names, f"{more} more"] if more > 0 else names)
            sentence = f"{words.capital(best.label)}: {_rate(best, unit)}; can't tell whether {others} can do as much."
            why.append(f"{_reached(second, unit)[:-1]}: the ranges overlap.")
        else:
            ahead = f"{(best.median or 0.0) / (second.median or 1.0):.2f}× the next, {second.label}"
            sentence = f"{words.capital(best.label)} is the {most}: {_rate(best, unit)}, {ahead}."
        why.append(f"The {least}, {against}")
    why += mattered(cells, usual) + cautions(cells, measured)
    return {"verdict": sentence, "why": " ".join(why), "next": _next(tied, measured, finished, command)}


def mattered(cells: Sequence[CellResult], usual: float) -> list[str]:
    """A sentence on how much each of several axes makes by itself."""
    axis_effects = cell_effects(cells)
    if len(axis_effects) < 2:
        return []
    parts = [
        f"{effect.axis} {effect.factor:.2f}×" if effect.exceeds(usual) else f"{effect.axis} can't be told"
        for effect in axis_effects
    ]
    return [f"Between the worst and the best value of each, everything else being the same: {words.listed(parts)}."]


def too_little(cells: Sequence[CellResult], order: Sequence[CellResult], unit: str, finished: bool) -> dict[str, str]:
    """Verdict, why and next with less than two measured cells (`order`)."""
    failed = [cell for cell in cells if cell.status == "failed"]
    going_on = "Mend that, then start the study again." if finished else "Let the study go on."
    if order:
        sentence = f"Only one cell was measured: {order[0].label}, {_rate(order[0], unit)}."
        why = " ".join(["A comparison takes two cells.", *cautions(cells, [])])
        return {"verdict": sentence, "why": why, "next": "Vary more." if finished and not failed else going_on}
    if cells and len(failed) == len(cells):
        why = f"All {len(cells)} cells failed. {words.capital(failed[0].label)}: {failed[0].why.rstrip('.')}."
        return {"verdict": "Nothing could be measured.", "why": why, "next": going_on}
    why = " ".join(["No run has completed so far.", *cautions(cells, [])])
    return {"verdict": "Nothing was measured yet.", "why": why, "next": going_on}


def _next(tied: Sequence[CellResult], order: Sequence[CellResult], finished: bool, command: str) -> str:
    if not finished:
        return "Let the study go on."
    if len(tied) == 1:
        return f"Use it: {command}" if command else "Use it."
    cells, repeats = min(len(tied), MOST_BEST), min(max(3 * max(len(cell.rates) for cell in order), 5), REPEATS)
    use = (
        f"Use it: {command} - or, to tell them apart," if command and len(tied) < len(order) else "To tell them apart,"
    )
    return (
        f"{use} run longer, or repeat the best more often, in a study's file: "
        f"best: {{cells: {cells}, repeats: {repeats}}}."
    )


def cautions(cells: Sequence[CellResult], order: Sequence[CellResult]) -> list[str]:
    """Sentences on what the results don't show."""
    sentences = []
    few = sum(len(cell.rates) < results.ENOUGH for cell in order)
    if few:
        have = "has" if few == 1 else "have"
        sentences.append(
            f"{words.count(few, 'cell')} {have} less than {results.ENOUGH} runs, so chance isn't known there."
        )
    failed = [cell for cell in cells if cell.status == "failed"]
    if failed:
        sentences.append(f"{words.count(len(failed), 'cell')} failed; {failed[0].label}: {failed[0].why.rstrip('.')}.")
    pruned = sum(cell.status == "pruned" for cell in cells)
    if pruned:
        sentences.append(f"{words.count(pruned, 'cell')} ended early as hopeless.")
    return sentences


def _reached(cell: CellResult, unit: str) -> str:
    return f"{words.capital(cell.label)} reached {_rate(cell, unit)}{_between(cell)}."


def _between(cell: CellResult) -> str:
    if len(cell.rates) < 2:
        return ""
    return f" ({words.quantity(min(cell.rates))} to {words.quantity(max(cell.rates))} in {len(cell.rates)} runs)"


def _rate(cell: CellResult, unit: str) -> str:
    return f"{words.quantity(cell.median or 0.0)} {unit}"


def seed_by_seed(
    texts: Mapping[str, str],
    cells: Sequence[CellResult],
    trials: Iterable[Trial],
    runs: Mapping[int, RunRecord],
    study: StudyRecord,
    command: str = "",
) -> dict[str, str]:
    """The verdict (`texts`) of a study whose repeats have seeds, with a comparison of the two best cells seed by seed.
    It can show a difference also where the ranges of the repeats overlap. `command` runs the best cell.
    """
    order = results.ranked(cells)
    pair = _paired(order[:2], trials, runs, study.description["rate"])
    if len(pair.pairs) < 2:
        return dict(texts)
    (best, second), number = order[:2], len(pair.pairs)
    why = (
        f"Seed by seed, {best.label} did better than {second.label} {pair.better} of {number} times, "
        f"by {words.quantity(pair.mean)} ± {words.quantity(results.standard_error(pair.differences) or 0.0)} on "
        "average (the mean's standard error)."
    )
    result = {**texts, "why": f"{why} {texts['why']}"}
    if pair.sure and pair.better == number and len(results.ties(results.enough(cells))) == 2:
        result["verdict"] = (
            f"{words.capital(best.label)} is better than {second.label} with every one of {number} seeds: "
            f"{words.quantity(best.median or 0.0)} against {_rate(second, study.description['unit'])}, at the median."
        )
        result["why"] = f"{why} By chance all {number} would agree once in {2 ** (number - 1)} times. {texts['why']}"
        if study.finished_at is not None and command:
            result["next"] = f"Use it: {command}"
    return result


def _paired(
    cells: Sequence[CellResult], trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str
) -> results.Paired:
    """The values of two cells, for each seed with which both were measured."""
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for trial in trials:
        if (value := results.rate_of(runs.get(trial.run_id or 0), rate)) is not None:
            values[results.cell_key(trial.label, trial.point)][trial.repeat] = value
    first, *others = (values[results.cell_key(cell.label, cell.point)] for cell in cells) if cells else ({},)
    other = others[0] if others else {}
    return results.Paired(tuple((first[repeat], other[repeat]) for repeat in sorted(first.keys() & other.keys())))


KIND = Kind(plan.KIND, title, grid_report, more, total, cards="workshop.study.grid.cards:cards")
