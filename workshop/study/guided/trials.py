"""Which trials a guided study wants next, how many in all, which one is hopeless, and how long they are likely to
take. Pure but for the estimates, which read the store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from workshop.core import words
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.guided.guide import Guide
from workshop.study.guided.placements import key
from workshop.study.guided.plan import Setting
from workshop.study.guided.step_results import StepResults, step_results
from workshop.study.kinds import Sofar, Watched
from workshop.study.results import best
from workshop.study.trials import RESULTS, Cell, interleave, status

HOPELESS = 0.5  # of the best rate of a step, below which a trial is ended early
WATCHED = 3.0  # seconds that it is watched before that
# Seconds of a trial where no past run says better: new ranks, TensorFlow's import and the compilation of its steps,
# for ranks that have cores of their own; more ranks than cores take turns with all of that.
TRIAL = 13.0
PAST = 300  # runs from which expected times are taken
Placements = list[Mapping[str, Any]]


def more(guide: Guide, sofar: Sofar) -> list[Trial]:
    """The trials of the first step that wants any: first each of its cells once, then those again that are repeated."""
    found = step_results(guide, sofar)
    first = max((trial.number for trial in sofar.trials), default=0) + 1
    for key_ in found.setting.steps:
        if wanted := interleave(_new(found, key_), 1, first) or _again(found, key_, first):
            return wanted
    return []


def total(guide: Guide, sofar: Sofar) -> int:
    """How many trials there will be in all, as far as one can tell before later steps know what earlier ones find."""
    found = step_results(guide, sofar)
    return len(sofar.trials) + sum(len(ahead(found, key_)) for key_ in found.setting.steps)


def hopeless(guide: Guide, sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """Why a trial is ended early: it has more threads than cores, and does less than half the work of the best of its
    step. What has a core for each thread may only have met a busy moment of the machine."""
    of = trial.point.get("step", "")
    pruned = of in guide.keys and of and guide.step(of).prune
    if not pruned or trial.repeat > 1 or watched.rate is None or watched.seconds < WATCHED:
        return None
    found = step_results(guide, sofar)
    where = Placement.parse(trial.placement)
    told = str(trial.point.get("env.TF_NUM_INTRAOP_THREADS", ""))
    threads = int(told) if told.isdigit() and int(told) else where.threads_per_rank
    leader = best(found.results(of))
    if where.ranks * threads <= found.setting.cores or leader is None or not leader.median:
        return None
    share = watched.rate / leader.median
    if share >= HOPELESS:
        return None
    return f"After {watched.seconds:.0f} s it did {100 * share:.0f} % of the work of {leader.label.partition(': ')[2]}."


def going_on(found: StepResults) -> Trial | None:
    """The trial that is being run or waits for its turn."""
    return next((trial for trial in found.trials if status(trial, found.runs) in ("running", "queued")), None)


def ahead(found: StepResults, of: str) -> Placements:
    """The placements of all trials that a step will still want, as far as one can tell."""
    fresh = [cell for cell in _new(found, of) if not cell.why]
    wanted = [cell.placement for cell in fresh]
    repeats = found.setting.repeats
    if fresh:  # which of them will be repeated, nobody knows; any will do, the cheapest ones rather than others
        able = [*fresh, *(cell for cell in found.cells(of) if not cell.why and cell not in fresh)]
        for cell in sorted(able, key=lambda cell: cell.placement["ranks"])[: _repeated_cells(found, of)]:
            wanted += [cell.placement] * (repeats - max(len(found.trials_of(of, cell)), 1))
    else:
        wanted += [trial.placement for trial in _again(found, of, 1)]
    later = found.guide.later(found, found.guide.step(of))
    return [*wanted, *(where for where in later for _ in range(repeats))]


def unfinished(found: StepResults, of: str) -> Placements:
    """The placements of those trials of a step that have led to nothing yet: an interrupted study has some."""
    return [trial.placement for trial in found.own(of) if status(trial, found.runs) not in RESULTS]


def _new(found: StepResults, of: str) -> list[Cell]:
    """The cells of a step that nobody has run yet, each once."""
    wanted: dict[str, Cell] = {}
    for cell in found.cells(of):
        if not found.trials_of(of, cell):
            wanted.setdefault(key(cell.params, cell.placement), cell)
    return list(wanted.values())


def _again(found: StepResults, of: str, first: int) -> list[Trial]:
    """Repeats of the cells that were the fastest at first, or of all that have a rate, in rounds."""
    cells = _repeated(found, of)
    counts = {cell.label: len(found.trials_of(of, cell)) for cell in cells}
    trials: list[Trial] = []
    for repeat in range(2, found.setting.repeats + 1):
        lacking = [cell for cell in cells if counts[cell.label] < repeat]
        turn = repeat % len(lacking) if lacking else 0  # none is always first
        trials += interleave([*lacking[turn:], *lacking[:turn]], 1, first + len(trials), repeat)
    return trials


def _repeated(found: StepResults, of: str) -> list[Cell]:
    """The cells to repeat by what their first trials have measured, so that repeats don't change who is repeated."""
    rated: dict[str, tuple[float, Cell]] = {}
    for cell in found.cells(of):
        if (rate := found.first_rate(of, cell)) is not None:
            rated.setdefault(key(cell.params, cell.placement), (rate, cell))
    ordered: Sequence[tuple[float, Cell]] = list(rated.values())
    if (most := _repeated_cells(found, of)) is not None:
        ordered = sorted(ordered, key=lambda pair: -pair[0])[:most]
    return [cell for _, cell in ordered]


def _repeated_cells(found: StepResults, of: str) -> int | None:
    """How many cells of a step are repeated; None: all."""
    repeat = found.guide.step(of).repeat
    return None if repeat == "all" else repeat


@dataclass(frozen=True)
class Estimate:
    """What a study, or one of its steps, still has to do."""

    runs: int
    seconds: float
    why: str = ""  # from what that is known


def estimate(placements: Sequence[Mapping[str, Any]], cores: int, past: Iterable[RunRecord]) -> Estimate:
    """How long trials on these placements are likely to take one after the other.

    As long as the median of the `past` ones that were measured took from the queue to the end, of those with as many
    ranks to a core where there are such; else of all, else `TRIAL`.
    """
    known: dict[int, list[float]] = {}
    for run in past:
        if run.measured and run.status == "completed" and run.finished_at is not None and run.started_at is not None:
            known.setdefault(_crowd(run.placement, cores), []).append(run.finished_at - run.queued_at)
    every = [seconds for told in known.values() for seconds in told]
    seconds = 0.0
    for placement in placements:
        crowd = _crowd(placement, cores)
        guessed = median(every) if every else TRIAL * (1 + 0.5 * (crowd - 1))
        seconds += median(known[crowd]) if crowd in known else guessed
    each = words.seconds(seconds / max(len(placements), 1))
    known_by = "as such runs took here" if every else "which is a guess: nothing like them has run here yet"
    return Estimate(len(placements), seconds, f"at {each} a run, {known_by}")


def expected(store: Store, setting: Setting, sofar: Sofar | None = None) -> Estimate:
    """What the steps still want that a study was asked for; `sofar` is None for one that isn't there yet."""
    guide = setting.guide
    nothing = StudyRecord(0, guide.kind, guide.workload, setting.description(), "interrupted", "", 0.0, None, 0, 0, 0)
    return _estimate(step_results(guide, sofar or Sofar(nothing, [], {})), setting.steps, _past(store, setting))


def by_step(guide: Guide, store: Store, sofar: Sofar) -> dict[str, Estimate]:
    """What each step would still want, whether it was asked for or not."""
    found = step_results(guide, sofar)
    past = _past(store, found.setting)
    return {one.key: _estimate(found, one.key, past) for one in guide.steps}


def _estimate(found: StepResults, steps: str, past: Sequence[RunRecord]) -> Estimate:
    chosen = found.guide.chosen(steps)
    placements = [where for key_ in chosen for where in (*unfinished(found, key_), *ahead(found, key_))]
    return estimate(placements, found.setting.cores, past)


def _past(store: Store, setting: Setting) -> list[RunRecord]:
    """Runs that there have been, and that did about as much as a trial of the study does."""
    guide = setting.guide
    usual = workload(guide.workload).params.model_fields
    wanted = {name: setting.params.get(name, usual[name].default) for name in guide.alike}
    runs = store.runs(workload=guide.workload, status="completed", limit=PAST)
    return [
        run for run in runs if all(run.params.get(name, usual[name].default) == value for name, value in wanted.items())
    ]


def _crowd(placement: Mapping[str, Any], cores: int) -> int:
    """How many ranks a core has to serve."""
    return math.ceil(Placement.parse(placement).ranks / max(cores, 1))
