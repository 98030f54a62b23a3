"""A kind of study for tests: it wants a slow trial after a quick one, gives that up, and wants another quick one."""

from __future__ import annotations

from workshop.core.placement import Placement
from workshop.store.records import Trial
from workshop.study.kinds import Kind, Sofar, Watched
from workshop.study.scaling.kind import KIND as SCALING
from workshop.study.trials import status


def more(sofar: Sofar) -> list[Trial]:
    known = [status(trial, sofar.runs) for trial in sofar.trials]
    where = Placement(ranks=1).as_json()
    if known == ["completed"]:
        return [Trial(2, "slow", {"seconds": 0.5, "epochs": 20}, where, 1)]
    return [Trial(3, "last", {}, where, 1)] if known == ["completed", "pruned"] else []


def hopeless(sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    slow = trial.label == "slow" and watched.rate is not None and watched.seconds > 0.3
    return f"{sofar.trials[0].number} was quicker." if slow else None


KIND = Kind("probing", SCALING.title, SCALING.report, more, lambda sofar: 3, hopeless)
