"""The runs that measure what a question asks for: made in a session, looked at, and ended."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import truth
from workshop.quiz.types.predict import Predict
from workshop.sessions import client, lifecycle
from workshop.store.records import Identity
from workshop.store.store import Store


def submit(store: Store, name: str, question: Predict, identity: Identity | None) -> dict[str, int]:
    """Have the question's runs made in the session of this name; "": in the newest one that is up and is nobody's own.
    Returns run ids by name. Raises BadInput."""
    session = store.session(name) if name else lifecycle.newest_session(store)
    if not session.up:
        raise BadInput(f"Session {name} is {session.state}; start it, so that the answer can be measured.")
    return truth.submit(store, session, question, identity)


def look(store: Store, runs: Mapping[str, int]) -> tuple[float, bool]:
    """How many runs have ended, parts of one included, and whether all have. Raises BadInput where they won't."""
    records = [store.run(run) for run in runs.values()]
    for run in records:
        if run.status == "queued" and store.session(run.session_id).state in ("stopped", "failed"):
            raise BadInput(f"Session {run.session} has stopped; start it and run again.")
    done = 0.0
    for run in records:
        part, total = run.progress or (0.0, 0.0)
        done += 1.0 if run.ended else min(part / total, 1.0) if total > 0 else 0.0
    # One that reads interrupted may go on: its conductor was only slow, see `sessions.client.wait`.
    return round(done, 2), all(run.ended for run in records)


def cancel(store: Store, runs: Mapping[str, int]) -> None:
    """End runs that nobody waits for any more."""
    for run in runs.values():
        with suppress(WorkshopError):  # it has ended by itself
            client.cancel(store, run)
