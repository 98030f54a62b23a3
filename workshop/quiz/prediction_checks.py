"""Checking somebody's prediction against their own runs: those that they have made, or that are made for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import truth
from workshop.quiz.deck import Predict
from workshop.quiz.truth import Truth
from workshop.runtime import lifecycle
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

KEPT = "Your prediction is kept"


@dataclass(frozen=True)
class PredictionState:
    """How far one's own runs are: a sentence, progress while they go on (how many of how many, parts of one included),
    a problem, and whether somebody should be offered to `run` what is missing."""

    words: str
    progress: tuple[float, int] | None = None
    problem: str = ""
    run: bool = False


def measured(store: Store, question: Predict, whose: int | None) -> Truth | None:
    """What came out of the newest runs of this identity; None while some are missing. Raises BadInput."""
    runs = truth.own(store, question, whose)
    return truth.value(store, question, runs) if len(runs) == len(question.runs) else None


def run(
    store: Store, question: Predict, identity: Identity | None, whose: int | None, session: SessionRecord | None
) -> dict[str, int]:
    """Have those runs made that are missing and not under way, in this session (None: the newest), and those anew that
    are too old to be compared with them: run ids by name. Raises BadInput, also where no session is up."""
    there = truth.latest(store, question, whose)
    have = {name: run.id for name, run in there.items() if run.status == "completed" or not run.ended}
    if len(have) == len(question.runs):
        return {}
    have = {name: run.id for name, run in _fresh(there).items()}
    return truth.submit(store, session or lifecycle.newest_session(store), question, identity, have)


def measuring(
    store: Store, question: Predict, whose: int | None, came: Truth | None, session: SessionRecord | None = None
) -> PredictionState:
    """What there is to say as long as there is no value; `came` is what `measured` said, `session` where runs would be
    made (None: in the newest). Raises BadInput."""
    if came is not None:
        return PredictionState(f"{KEPT}.", problem=came.problem)
    found = truth.latest(store, question, whose)
    if going := [run for run in found.values() if not run.ended]:
        told = words.listed(f"run {run.id} ({_doing(run)})" for run in going)
        problem = next(filter(None, (_stuck(store, run) for run in going)), "")
        done = round(sum(map(_done, found.values())), 3)
        return PredictionState(
            f"{KEPT}; it is checked when {told} {words.verb(len(going))} done.", (done, len(question.runs)), problem
        )
    missing = len(question.runs) - len(_fresh(found))
    problem = " ".join(truth.why_not(run) for run in found.values() if run.status != "completed")
    try:
        if session is None or not session.up:
            lifecycle.newest_session(store)
    except BadInput as error:
        return PredictionState(f"{KEPT}.", problem=f"{problem} {error}".strip())
    told = f"{KEPT}. To check it, {words.count(missing, 'run')} of your own {words.verb(missing)} missing."
    return PredictionState(told, problem=problem, run=True)


def _fresh(found: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """Those that needn't be made where others have to be: what is compared is made at about the same time."""
    return {
        name: run for name, run in found.items() if not run.ended or (run.status == "completed" and truth.recent(run))
    }


def _stuck(store: Store, run: RunRecord) -> str:
    """Why a run won't end by itself; empty where it will."""
    session = store.session(run.session_id)
    if session.up:
        return ""
    return f"Session {session.name} is {session.state}: the run goes on when somebody starts it again."


def _doing(run: RunRecord) -> str:
    return "waiting for its turn" if run.status == "queued" else "running"


def _done(run: RunRecord) -> float:
    """Which part of a run is done, as far as it told."""
    if run.status == "completed":
        return 1.0
    done, total = run.progress or (0.0, 1.0)
    return min(done / total, 1.0) if total > 0 else 0.0
