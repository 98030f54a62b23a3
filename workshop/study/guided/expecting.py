"""How long a guided study is likely to take, told beforehand: by the runs of its workload that there have been."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.registry import workload
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.study.guided.found import Found
from workshop.study.guided.plan import STEPS, WORKLOAD, Estimate, Setting, estimate
from workshop.study.guided.planning import ahead, found_of, unfinished
from workshop.study.kinds import Sofar

PAST = 300  # runs from which expected times are taken
ALIKE = ("iterations", "size")  # params by which a run takes its time


def expected(store: Store, sofar: Sofar) -> Estimate:
    """What those steps still want that the study was asked for."""
    found = found_of(sofar)
    return _of(found, found.setting.steps, _past(store, found.setting))


def by_step(store: Store, sofar: Sofar) -> dict[str, Estimate]:
    """What each step would still want, whether it was asked for or not."""
    found = found_of(sofar)
    past = _past(store, found.setting)
    return {step: _of(found, step, past) for step in STEPS}


def _of(found: Found, steps: str, past: Sequence[RunRecord]) -> Estimate:
    chosen = [step for step in STEPS if step in steps]
    placements = [where for step in chosen for where in (*unfinished(found, step), *ahead(found, step))]
    return estimate(placements, found.setting.cores, past)


def _past(store: Store, setting: Setting) -> list[RunRecord]:
    """Runs that there have been, and that a trial is likely to take as long as."""
    return [run for run in store.runs(workload=WORKLOAD, status="completed", limit=PAST) if alike(run, setting)]


def alike(run: RunRecord, setting: Setting) -> bool:
    """Whether a run did about as much as a trial of the study does."""
    usual = workload(WORKLOAD).params.model_fields
    return all(
        run.params.get(name, usual[name].default) == setting.params.get(name, usual[name].default) for name in ALIKE
    )
