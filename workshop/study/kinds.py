"""Kinds of studies: which trials one wants, when one of them is hopeless, and what it has found.

The runner knows nothing of any of this: it runs what is missing, asks the study's kind for more when nothing is, and
ends when there is no more. A kind decides from what the store has, so that whoever goes on with a study after a crash
decides alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workshop.core.errors import BadInput
from workshop.extension import load
from workshop.registry import studies, workloads
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.report import Report, unknown


@dataclass(frozen=True)
class Sofar:
    """A study as it is: its trials in their order, their runs by id."""

    study: StudyRecord
    trials: Sequence[Trial]
    runs: Mapping[int, RunRecord]


@dataclass(frozen=True)
class Watched:
    """A trial's run while it goes on: how long it has been measured, and the median of its work per second."""

    run: RunRecord
    seconds: float
    rate: float | None  # None: it has told none yet


def read(store: Store, study_id: int) -> tuple[list[Trial], dict[int, RunRecord]]:
    """A study's trials and their runs by id."""
    trials = store.trials(study_id)
    return trials, {run.id: run for run in store.runs(study_id=study_id, limit=None)}


@dataclass(frozen=True)
class Kind:
    """One kind. All functions are pure but for `report` and `seconds`, which read the store.

    `more` is asked whenever no trial is missing and returns further ones, whose numbers go on; none: the study is
    complete. `total` is how many trials there will be in all, as far as one can tell. `hopeless` is asked about twice
    a second while a trial goes on, and returns the sentence with which it is pruned. `seconds` is how long all that a
    study lacks is likely to take, and in a few words from what that is known, where a kind knows better than that every
    run takes as long as others. `measured` tells whether its trials are compared by how fast they are: only then they
    get fresh ranks and the machine for themselves. `columns` are further figures of a trial's run, by name.
    """

    name: str
    title: Callable[[StudyRecord], str]
    report: Callable[[Store, StudyRecord], Report]
    more: Callable[[Sofar], list[Trial]] = lambda sofar: []
    total: Callable[[Sofar], int] = lambda sofar: len(sofar.trials)
    hopeless: Callable[[Sofar, Trial, Watched], str | None] = lambda sofar, trial, watched: None
    seconds: Callable[[Store, Sofar], tuple[float, str] | None] = lambda store, sofar: None
    measured: bool = True
    columns: Callable[[RunRecord], Mapping[str, float]] = lambda run: {}


def kind(name: str) -> Kind:
    """The kind of that name. Raises BadInput for one that this program doesn't know."""
    if name not in studies():
        raise BadInput(f"There is no kind of study {name!r}; this workshop knows {', '.join(studies())}.")
    return load(studies()[name].kind)


def title(study: StudyRecord) -> str:
    """A study in a few words, of whatever kind."""
    if study.kind not in studies():
        return f"{study.kind} of {study.workload}"
    return kind(study.kind).title(study)


def expected(study: StudyRecord, trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> int:
    """How many runs a study takes in all, as far as one can tell: beyond those it has, its kind may want more."""
    if study.finished_at is not None or study.kind not in studies():
        return len(trials)
    return max(kind(study.kind).total(Sofar(study, trials, runs)), len(trials))


def report(store: Store, study: StudyRecord) -> Report:
    """What a study has found so far. Raises BadInput for a kind that this program doesn't know."""
    if study.kind not in studies():
        raise BadInput(f"Study {study.id} is of the kind {study.kind!r}, which this workshop can't show.")
    return kind(study.kind).report(store, study)


def any_report(store: Store, study: StudyRecord) -> Report:
    """What a study has found so far, also one of a kind that this program doesn't know."""
    known = study.kind in studies()
    return kind(study.kind).report(store, study) if known else unknown(study, *read(store, study.id))


def example() -> str:
    """A command that runs a study, for a page that has none to show yet. It takes a workload that trains, if there is
    one: those gain most from more ranks."""
    known = [workload for workload in workloads().values() if workload.scaling is not None]
    if not known:
        return "workshop study run --help"
    chosen = min(known, key=lambda workload: (not workload.trains, workload.order))
    return f"workshop study run scaling --workload {chosen.name} --ranks 1,2,4"
