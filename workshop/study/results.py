"""What the cells of a study have reached, and how they compare. Pure.

Whoever compares cells does it here: with medians, and with the range of the repeats as what chance does to a
figure. A difference is sure where the ranges of the two don't overlap. A cell that was measured once has no range of
its own; it is lent the study's usual one. Only the guided study, whose cells have but two repeats, judges differences
otherwise: see `workshop.study.guided.chance`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from workshop.store.records import RunRecord, Trial
from workshop.study.trials import IMPOSSIBLE, TrialStatus, status

NOISE = 0.05  # range of a cell's repeats as a share of their median, where a study has repeated none
# What a cell without a rate is, by the first of these that one of its trials is.
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
    """One cell and what its trials have reached so far."""

    label: str
    point: Mapping[str, Any]  # axis -> value
    params: Mapping[str, Any]
    placement: Mapping[str, Any]
    rates: tuple[float, ...]  # work per second of its completed trials, in their order
    runs: tuple[int, ...]  # of these rates
    status: TrialStatus  # "completed" as soon as there is a rate
    why: str = ""  # one sentence: why a trial of it failed or was pruned
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
        """The run to look at for this cell: the one in the middle of its rates, or the last that was pruned."""
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
class Ratio:
    """How many times as fast one cell is as another: of medians, and the least and most that their repeats allow."""

    value: float
    low: float
    high: float

    @property
    def sure(self) -> bool:
        """Whether one is faster whichever of their repeats are compared."""
        return self.low > 1.0 or self.high < 1.0


def results(trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str) -> list[CellResult]:
    """One for each distinct cell (label and point), in order of first appearance; `runs` are the study's, by id,
    `rate` names the metric."""
    cells: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        cells.setdefault(cell_key(trial.label, trial.point), []).append(trial)
    return [_result(mine, runs, rate) for mine in cells.values()]


def cell_key(label: str, point: Mapping[str, Any]) -> tuple[str, str]:
    """The label and the point of a cell as a key: equal keys are the same cell."""
    return label, json.dumps(dict(point), sort_keys=True, default=str)


def best(cells: Iterable[CellResult]) -> CellResult | None:
    """The cell with the largest median, the first of equals; None where nothing has been measured."""
    measured = [cell for cell in cells if cell.rates]
    return max(measured, key=lambda cell: cell.median or 0.0, default=None)


def ranked(cells: Iterable[CellResult]) -> list[CellResult]:
    """The measured cells, the largest median first."""
    return sorted((cell for cell in cells if cell.rates), key=lambda cell: -(cell.median or 0.0))


def noise(cells: Iterable[CellResult]) -> float:
    """The usual range of a cell's repeats as a share of their median; `NOISE` where none has been repeated."""
    spreads = [(max(cell.rates) - min(cell.rates)) / median(cell.rates) for cell in cells if len(cell.rates) > 1]
    return median(spreads) if spreads else NOISE


def span(cell: CellResult, usual: float = NOISE) -> tuple[float, float]:
    """Where a cell's rate may lie: between its least and its most, or around its only one by the `usual` noise.

    Raises ValueError for a cell without a rate.
    """
    if len(cell.rates) == 1:
        return cell.rates[0] * (1 - usual / 2), cell.rates[0] * (1 + usual / 2)
    return min(cell.rates), max(cell.rates)


def ratio(cell: CellResult, base: CellResult, usual: float = NOISE) -> Ratio | None:
    """How many times as fast `cell` is as `base`; None where one of them has no rate."""
    if cell.median is None or base.median is None:
        return None
    (low, high), (base_low, base_high) = span(cell, usual), span(base, usual)
    return Ratio(cell.median / base.median, low / base_high, high / base_low)


def ties(cells: Sequence[CellResult], usual: float | None = None) -> list[CellResult]:
    """The cells that may be as fast as the best one, the best first: those whose ranges overlap with its range."""
    order = ranked(cells)
    spread = noise(cells) if usual is None else usual
    return [cell for cell in order if cell is order[0] or not _sure(ratio(order[0], cell, spread))]


def rate_of(run: RunRecord | None, rate: str) -> float | None:
    """The work per second that a completed run has told; None where it told none, or none that can be compared."""
    told = run.metrics.get(rate) if run is not None and run.status == "completed" else None
    usable = isinstance(told, (int, float)) and not isinstance(told, bool) and math.isfinite(told) and told > 0
    return float(told) if usable else None


def _sure(found: Ratio | None) -> bool:
    return found is not None and found.sure


def _result(mine: Sequence[Trial], runs: Mapping[int, RunRecord], rate: str) -> CellResult:
    rates: list[float] = []
    of: list[int] = []
    became: list[TrialStatus] = []
    whys: list[str] = []
    pruned = [trial for trial in mine if trial.error is None and trial.pruned is not None]
    for trial in mine:
        run = runs.get(trial.run_id or 0)
        now = status(trial, runs)
        told = rate_of(run, rate)
        if now == "completed" and told is not None and run is not None:
            rates.append(told)
            of.append(run.id)
        elif now == "completed":
            now = "failed"
            whys.append(f"It told no {rate}.")
        elif now == "failed":
            whys.append(failure(trial, run))
        elif now == "pruned":
            whys.append((trial.pruned or {}).get("why", ""))
        became.append(now)
    first = mine[0]
    return CellResult(
        first.label,
        first.point,
        first.params,
        first.placement,
        tuple(rates),
        tuple(of),
        "completed" if rates else next(word for word in _RANKED if word in became),
        next(filter(None, whys), ""),
        became.count("failed"),
        next((trial.pruned.get("rate") for trial in pruned if trial.pruned), None),
        tuple(trial.run_id for trial in pruned if trial.run_id is not None),
    )


def failure(trial: Trial, run: RunRecord | None) -> str:
    """Why a trial failed, as one line; `run` is its run, where it has one."""
    error = trial.error or (run.error if run is not None else None) or {}
    kind, message = error.get("type", ""), " ".join(str(error.get("message", "")).split())
    plain = kind in _SENTENCES
    return message if plain and message else f"{kind}: {message}" if message else kind or "It failed."
