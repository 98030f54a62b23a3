"""Which trials the guided study wants next, how many it will want in all, and which one is hopeless. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.placement import Placement
from workshop.store.records import Trial
from workshop.study.guided.cells import ALL, CELLS, OVERALL, REPEATED, spread_out
from workshop.study.guided.found import ANEW, Found
from workshop.study.guided.places import INTRA, key
from workshop.study.guided.plan import Setting
from workshop.study.kinds import Sofar, Watched
from workshop.study.results import best
from workshop.study.trials import RESULTS, Cell, interleave, status

HOPELESS = 0.5  # of the best rate of a step, below which a trial is ended early
WATCHED = 3.0  # seconds that it is watched before that
PRUNED = "cd"  # steps of which only the fastest cells matter


def found_of(sofar: Sofar) -> Found:
    return Found(Setting.read(sofar.study.description), sofar.trials, sofar.runs, CELLS, OVERALL)


def more(sofar: Sofar) -> list[Trial]:
    """The trials of the first step that wants any: first each of its cells once, then those again that are repeated."""
    found = found_of(sofar)
    first = max((trial.number for trial in sofar.trials), default=0) + 1
    for step in found.setting.steps:
        wanted = interleave(new(found, step), 1, first) or _again(found, step, first)
        if wanted:
            return wanted
    return []


def total(sofar: Sofar) -> int:
    """How many trials there will be in all, as far as one can tell before later steps know what earlier ones find."""
    found = found_of(sofar)
    return len(sofar.trials) + sum(len(ahead(found, step)) for step in found.setting.steps)


def hopeless(sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """Why a trial is ended early: it has more threads than cores, and does less than half the work of the best of its
    step. What has a core for each thread may only have met a busy moment of the machine."""
    step = trial.point.get("step", "")
    if step not in PRUNED or trial.repeat > 1 or watched.rate is None or watched.seconds < WATCHED:
        return None
    found = found_of(sofar)
    if _threads(trial) <= found.setting.cores:
        return None
    leader = best(found.results(step))
    if leader is None or leader.median is None or watched.rate >= HOPELESS * leader.median:
        return None
    share = watched.rate / leader.median
    return f"After {watched.seconds:.0f} s it did {100 * share:.0f} % of the work of {_name(leader.label)}."


def _threads(trial: Trial) -> int:
    """Threads of all ranks that compute."""
    where = Placement.parse(trial.placement)
    told = where.environment.get(INTRA, "")
    return where.ranks * (int(told) if told.isdigit() and int(told) else where.threads_per_rank)


def new(found: Found, step: str) -> list[Cell]:
    """The cells of a step that nobody has run yet, each once."""
    wanted = {
        key(cell.params, cell.placement): cell for cell in reversed(found.cells(step)) if not found.of(step, cell)
    }
    return list(reversed(wanted.values()))


def ahead(found: Found, step: str) -> list[Mapping[str, Any]]:
    """The placements of all trials that a step will still want, as far as one can tell."""
    fresh = [cell for cell in new(found, step) if not cell.why]
    wanted = [cell.placement for cell in fresh]
    repeats = found.setting.repeats
    known = [cell for cell in found.cells(step) if not cell.why and cell not in fresh]
    if fresh:  # which of them will be repeated, nobody knows; any will do, the cheapest ones rather than others
        several = sorted([*fresh, *known], key=lambda cell: cell.placement["ranks"])[: REPEATED[step]]
        wanted += [cell.placement for cell in several for _ in range(repeats - max(len(found.of(step, cell)), 1))]
    else:
        wanted += [trial.placement for trial in _again(found, step, 1)]
    if step == ANEW and not found.begun("d") and "d" in found.setting.steps:  # which will have a stage of its own
        wanted += [spread_out(found).as_json()] * repeats
    return wanted


def unfinished(found: Found, step: str) -> list[Mapping[str, Any]]:
    """The placements of those trials of a step that have led to nothing yet: an interrupted study has some."""
    mine = (trial for trial in found.trials if trial.point.get("step") == step)
    return [trial.placement for trial in mine if status(trial, found.runs) not in RESULTS]


def _again(found: Found, step: str, first: int) -> list[Trial]:
    """Repeats of the cells that were the fastest at first, or of all that have a rate, in rounds."""
    cells = _repeated(found, step)
    counts = {cell.label: len(found.of(step, cell)) for cell in cells}
    trials: list[Trial] = []
    for repeat in range(2, found.setting.repeats + 1):
        lacking = [cell for cell in cells if counts[cell.label] < repeat]
        turn = repeat % len(lacking) if lacking else 0  # none is always first
        trials += interleave([*lacking[turn:], *lacking[:turn]], 1, first + len(trials), repeat)
    return trials


def _repeated(found: Found, step: str) -> list[Cell]:
    """Told by what their first trials have measured, so that repeats don't change who is repeated."""
    rated: dict[str, tuple[float, Cell]] = {}
    for cell in found.cells(step):
        rate = found.first_rate(step, cell)
        if rate is not None:
            rated.setdefault(key(cell.params, cell.placement), (rate, cell))
    most = REPEATED[step]
    ordered: Sequence[tuple[float, Cell]] = list(rated.values())
    if most < ALL:
        ordered = sorted(ordered, key=lambda pair: -pair[0])[:most]
    return [cell for _, cell in ordered]


def going_on(found: Found) -> Trial | None:
    """The trial that is being run or waits for its turn."""
    return next((trial for trial in found.trials if status(trial, found.runs) in ("running", "queued")), None)


def _name(label: str) -> str:
    """A cell's label without its step."""
    return label.partition(": ")[2] or label
