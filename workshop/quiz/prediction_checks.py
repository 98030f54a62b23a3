"""Checks a learner's prediction against the learner's own runs, and submits the runs that are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import truth
from workshop.quiz.truth import Truth
from workshop.quiz.types.predict import Predict
from workshop.runtime import lifecycle
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

SAVED = "Your prediction is kept"


@dataclass(frozen=True)
class PredictionState:
    """How far a learner's runs are: a sentence, progress while they go on (finished, total; a part of a run counts as
    a fraction), a problem, and whether to offer a button that submits the missing runs (`run`)."""

    words: str
    progress: tuple[float, int] | None = None
    problem: str = ""
    run: bool = False


def measured(store: Store, question: Predict, identity_id: int | None) -> Truth | None:
    """The right answer from the newest runs of this identity; None while runs are missing. Raises BadInput."""
    runs = truth.newest_completed(store, question, identity_id)
    return truth.value(store, question, runs) if len(runs) == len(question.runs) else None


def run(
    store: Store, question: Predict, identity: Identity | None, identity_id: int | None, session: SessionRecord | None
) -> dict[str, int]:
    """Submit the runs that are missing and not under way, in this session (None: the newest). Repeat the runs that are
    too old to be compared with them. Return run ids by name. Raises BadInput, also if no session is up."""
    latest = truth.latest(store, question, identity_id)
    have = {name: run.id for name, run in latest.items() if run.status == "completed" or not run.ended}
    if len(have) == len(question.runs):
        return {}
    have = {name: run.id for name, run in _fresh(latest).items()}
    return truth.submit(store, session or lifecycle.newest_session(store), question, identity, have)


def measuring(
    store: Store,
    question: Predict,
    identity_id: int | None,
    measured_truth: Truth | None,
    session: SessionRecord | None = None,
) -> PredictionState:
    """The state of the runs as long as there is no value. `measured_truth` is the result of `measured`; runs would be
    made in `session` (None: the newest). Raises BadInput."""
    if measured_truth is not None:
        return PredictionState(f"{SAVED}.", problem=measured_truth.problem)
    latest = truth.latest(store, question, identity_id)
    if going := [run for run in latest.values() if not run.ended]:
        doing = {"queued": "waiting for its turn"}
        sentence = words.listed(f"run {run.id} ({doing.get(run.status, 'running')})" for run in going)
        problem = next(filter(None, (_stuck(store, run) for run in going)), "")
        done = round(sum(map(_done, latest.values())), 3)
        return PredictionState(
            f"{SAVED}; it is checked when {sentence} {words.verb(len(going))} done.",
            (done, len(question.runs)),
            problem,
        )
    missing = len(question.runs) - len(_fresh(latest))
    problem = " ".join(truth.failure_reason(run) for run in latest.values() if run.status != "completed")
    try:
        if session is None or not session.up:
            lifecycle.newest_session(store)
    except BadInput as error:
        return PredictionState(f"{SAVED}.", problem=f"{problem} {error}".strip())
    sentence = f"{SAVED}. To check it, {words.count(missing, 'run')} of your own {words.verb(missing)} missing."
    return PredictionState(sentence, problem=problem, run=True)


def _fresh(runs: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """The runs that needn't be repeated: runs that are compared should be made at about the same time."""
    return {
        name: run for name, run in runs.items() if not run.ended or (run.status == "completed" and truth.recent(run))
    }


def _stuck(store: Store, run: RunRecord) -> str:
    """Why a run won't end by itself; empty if it will."""
    session = store.session(run.session_id)
    if session.up:
        return ""
    return f"Session {session.name} is {session.state}: the run goes on when somebody starts it again."


def _done(run: RunRecord) -> float:
    """The finished share of a run, as far as the run reported it."""
    if run.status == "completed":
        return 1.0
    done, total = run.progress or (0.0, 1.0)
    return min(done / total, 1.0) if total > 0 else 0.0
