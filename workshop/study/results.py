"""Results of the cells of a study, and comparisons of cells. Pure.

Comparisons use medians, and the range of the repeats as the effect of chance. Two cells differ if the ranges of three
repeats or more don't overlap, or if all of enough seeds favour the same one (`Paired`). Whatever isn't shown so can't
be told.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median, stdev
from typing import Any, Literal

from workshop.store.records import RunRecord, Trial
from workshop.study.trials import IMPOSSIBLE, TrialStatus, status

ENOUGH = 3  # repeats of a cell that its range takes
SAME = 0.1  # share: cells whose repeats are all this close are as fast as each other
AGREED = 5  # seeds that all have to say the same before it is called sure
NOISE = 0.05  # range of a cell's repeats as a share of their median, where a study has repeated none
Comparison = Literal["apart", "alike", "unsure"]
# The status of a cell without a rate: the first of these that one of its trials has.
_RANKED: tuple[TrialStatus, ...] = (
    "running",
    "queued",
    "waiting",
    "interrupted",
    "cancelled",
    "pruned",
    "failed",
)
# Types of errors whose messages are sentences by themselves.
_SENTENCES = ("", IMPOSSIBLE, "BadInput", "TimeLimit", "WorkshopError")


@dataclass(frozen=True)
class CellResult:
    """One cell and the results of its trials so far."""

    label: str
    point: Mapping[str, Any]  # axis -> value
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    rates: tuple[float, ...]  # work per second of its completed trials, in their order
    runs: tuple[int, ...]  # of these rates
    status: TrialStatus  # "completed" as soon as there is a rate
    why: str = ""  # the reason why a trial failed or was pruned, in one sentence
    failures: int = 0
    pruned_at: float | None = None  # the rate that a pruned trial had reached
    pruned_runs: tuple[int, ...] = field(default=(), repr=False)

    @property
    def median(self) -> float | None:
        return median(self.rates) if self.rates else None

    @property
    def low(self) -> float | None:
        return min(self.rates, default=None)

    @property
    def high(self) -> float | None:
        return max(self.rates, default=None)

    @property
    def run(self) -> int | None:
        """The run that represents this cell: the median one, or the last pruned one."""
        if not self.rates:
            return self.pruned_runs[-1] if self.pruned_runs else None
        return sorted(zip(self.rates, self.runs, strict=True))[(len(self.rates) - 1) // 2][1]

    def as_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "point": dict(self.point),
            "rate": self.median,
            "low": self.low,
            "high": self.high,
            "rates": list(self.rates),
            "repeats": len(self.rates),
            "runs": list(self.runs),
            "status": self.status,
            "failed": self.failures,
            "why": self.why or None,
        }


@dataclass(frozen=True)
class Paired:
    """Values of one cell and of another with the same seeds, at least one pair.

    With the same seed two cells have the same luck, so their differences scatter less than their values. If they are
    equally good, all of n seeds favour the same cell with a probability of 1 / 2^(n-1) (the sign test: Conover,
    Practical nonparametric statistics, 1999, section 3.4).
    """

    pairs: tuple[tuple[float, float], ...]

    @property
    def differences(self) -> list[float]:
        return [value - other for value, other in self.pairs]

    @property
    def shares(self) -> list[float]:
        """The relative differences, value / other - 1; none where one of the others is 0."""
        return [value / other - 1 for value, other in self.pairs] if all(other > 0 for _, other in self.pairs) else []

    @property
    def mean(self) -> float:
        return fmean(self.differences)

    @property
    def better(self) -> int:
        return sum(difference > 0 for difference in self.differences)

    @property
    def worse(self) -> int:
        return sum(difference < 0 for difference in self.differences)

    @property
    def agreed(self) -> bool:
        """Whether all differences have the same sign."""
        return len(self.pairs) in (self.better, self.worse)

    @property
    def sure(self) -> bool:
        """Whether all differences have the same sign, with enough seeds to be significant."""
        return self.agreed and len(self.pairs) >= AGREED


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of the mean of some values; None for less than two."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def results(trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str) -> list[CellResult]:
    """The result of each distinct cell (label and point), in order of appearance. `runs` are the study's runs by id;
    `rate` names the metric."""
    cells: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        cells.setdefault(cell_key(trial.label, trial.point), []).append(trial)
    return [_result(cell_trials, runs, rate) for cell_trials in cells.values()]


def cell_key(label: str, point: Mapping[str, Any]) -> tuple[str, str]:
    """The label and the point of a cell as a key."""
    return label, json.dumps(dict(point), sort_keys=True, default=str)


def best(cells: Iterable[CellResult]) -> CellResult | None:
    """The cell with the largest median, the first of equals; None if nothing was measured."""
    measured = [cell for cell in cells if cell.rates]
    return max(measured, key=lambda cell: cell.median or 0.0, default=None)


def ranked(cells: Iterable[CellResult]) -> list[CellResult]:
    """The measured cells, the largest median first."""
    return sorted((cell for cell in cells if cell.rates), key=lambda cell: -(cell.median or 0.0))


def noise(cells: Iterable[CellResult]) -> float:
    """The usual range of a cell's repeats as a share of their median; `NOISE` if no cell was repeated."""
    spreads = [(max(cell.rates) - min(cell.rates)) / median(cell.rates) for cell in cells if len(cell.rates) > 1]
    return median(spreads) if spreads else NOISE


def compare(cell: CellResult | None, other: CellResult | None) -> Comparison:
    """Whether two cells with enough repeats are shown to differ, as their ranges don't overlap, or to be as fast as
    each other, as all their repeats are within `SAME`; else it can't be told."""
    if cell is None or other is None or min(len(cell.rates), len(other.rates)) < ENOUGH:
        return "unsure"
    rates = (*cell.rates, *other.rates)
    if max(cell.rates) < min(other.rates) or max(other.rates) < min(cell.rates):
        return "apart"
    return "alike" if max(rates) < min(rates) * (1 + SAME) else "unsure"


def gain(cell: CellResult | None, other: CellResult | None) -> float:
    """The speed of one cell divided by that of the other; 0 if one of the two was not measured."""
    return (cell.median or 0.0) / other.median if cell is not None and other is not None and other.median else 0.0


def enough(cells: Iterable[CellResult]) -> list[CellResult]:
    """The cells with enough repeats to be compared, the largest median first."""
    return [cell for cell in ranked(cells) if len(cell.rates) >= ENOUGH]


def ties(order: Sequence[CellResult]) -> list[CellResult]:
    """Of `enough` cells those that may be as fast as the first, because their ranges overlap; itself included."""
    return [cell for cell in order if max(cell.rates) >= min(order[0].rates)]


def rate_of(run: RunRecord | None, rate: str) -> float | None:
    """The work per second of a completed run; None if the run has no usable value."""
    value = run.metrics.get(rate) if run is not None and run.status == "completed" else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        return None
    return float(value)


def _result(cell_trials: Sequence[Trial], runs: Mapping[int, RunRecord], rate: str) -> CellResult:
    rates: list[float] = []
    rate_runs: list[int] = []
    became: list[TrialStatus] = []
    whys: list[str] = []
    pruned = [trial for trial in cell_trials if trial.error is None and trial.pruned is not None]
    for trial in cell_trials:
        run = runs.get(trial.run_id or 0)
        now = status(trial, runs)
        value = rate_of(run, rate)
        if now == "completed" and value is not None and run is not None:
            rates.append(value)
            rate_runs.append(run.id)
        elif now == "completed":
            now = "failed"
            whys.append(f"Its run has no metric {rate}.")
        elif now == "failed":
            whys.append(failure(trial, run))
        elif now == "pruned":
            whys.append((trial.pruned or {}).get("why", ""))
        became.append(now)
    first = cell_trials[0]
    return CellResult(
        first.label,
        first.point,
        first.params,
        first.placement,
        tuple(rates),
        tuple(rate_runs),
        "completed" if rates else next(word for word in _RANKED if word in became),
        next(filter(None, whys), ""),
        became.count("failed"),
        next((trial.pruned.get("rate") for trial in pruned if trial.pruned), None),
        tuple(trial.run_id for trial in pruned if trial.run_id is not None),
    )


def failure(trial: Trial, run: RunRecord | None) -> str:
    """The reason why a trial failed, as one line; `run` is its run, if any."""
    error = trial.error or (run.error if run is not None else None) or {}
    kind, message = error.get("type", ""), " ".join(str(error.get("message", "")).split())
    plain = kind in _SENTENCES
    return message if plain and message else f"{kind}: {message}" if message else kind or "It failed."


def reason(trial: Trial, runs: Mapping[int, RunRecord]) -> str:
    """The reason why a trial failed or was pruned; empty for all others."""
    if trial.pruned is not None and trial.error is None:
        return str(trial.pruned.get("why", ""))
    run = runs.get(trial.run_id or 0)
    error = trial.error or (run.error if run is not None else None)
    return failure(trial, run) if error else ""


@dataclass(frozen=True)
class Effect:
    """The effect of one setting while all other settings stay the same."""

    axis: str
    best: Any  # the value with the best mean
    worst: Any
    factor: float  # of the best value's mean over the worst one's

    def exceeds(self, usual: float) -> bool:
        """Whether it is more than the `usual` noise of a cell makes between two means."""
        return self.factor > 1 + 2 * usual


def effects(points: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> list[Effect]:
    """The main effect of each axis on positive rates, the largest first. An axis is left out if no two points differ
    only in it.

    Means are geometric, because settings multiply speed. They are taken along lines on which all other settings are the
    same. For a complete grid these are the means over all points with a value (Box, Hunter and Hunter, Statistics for
    Experimenters, 2005, chapter 5). If points are missing, a value is not judged by the settings that it happened to be
    combined with.
    """
    axis_effects = [_effect(axis, points, rates) for axis in dict.fromkeys(name for point in points for name in point)]
    return sorted((effect for effect in axis_effects if effect is not None), key=lambda effect: -effect.factor)


def cell_effects(cells: Sequence[CellResult]) -> list[Effect]:
    """The effects among the measured ones of some cells."""
    measured = [cell for cell in cells if cell.median]
    return effects([cell.point for cell in measured], [cell.median or 0.0 for cell in measured])


def _effect(axis: str, points: Sequence[Mapping[str, Any]], rates: Sequence[float]) -> Effect | None:
    lines: dict[str, dict[str, float]] = defaultdict(dict)  # the other settings -> value -> log of the rate
    values: dict[str, Any] = {}
    for point, rate in zip(points, rates, strict=True):
        if axis in point:
            written = _written(point[axis])
            values[written] = point[axis]
            lines[_written({name: value for name, value in point.items() if name != axis})][written] = math.log(rate)
    above: dict[str, list[float]] = defaultdict(list)  # value -> how far above the mean of each of its lines
    for line in lines.values():
        middle = fmean(line.values())
        for written, log in line.items() if len(line) > 1 else ():
            above[written].append(log - middle)
    if len(above) < 2:
        return None
    means = {written: fmean(differences) for written, differences in above.items()}
    best, worst = max(means, key=lambda value: means[value]), min(means, key=lambda value: means[value])
    return Effect(axis, values[best], values[worst], math.exp(means[best] - means[worst]))


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
