"""Measuring what a question asks for: its runs in a session, looked at until they have ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import truth
from workshop.quiz.live import state as live
from workshop.quiz.types.predict import Predict
from workshop.sessions import client, lifecycle
from workshop.store.records import Identity
from workshop.store.store import Store

if TYPE_CHECKING:
    from workshop.web.quiz.room import Room

FAULT = "The answer could not be computed because of a fault in the server; its log says more. Skip the question."
LOOK = 0.5  # seconds between looks: every one takes processor time from the ranks


log = logging.getLogger(__name__)


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


async def measure(room: Room) -> None:
    """Look at the runs until they have ended, then show what they gave."""
    assert room.current is not None, "a question is being measured"
    question: Any = room.current.question  # a Predict, since it is measured
    runs = dict(room.state.runs)

    def still() -> bool:
        return room.state.phase == "measuring" and dict(room.state.runs) == runs and not room.state.problem

    async def show() -> str:
        """Show what the runs gave. Returns why that is not possible."""
        ended = False
        while still() and not ended:
            done, ended = await asyncio.to_thread(look, room.store, runs)
            if (done, len(runs)) != room.progress and still():
                room.progress = done, len(runs)
                room.announce()
            if not ended:
                await asyncio.sleep(LOOK)
        if not still():
            return ""
        for run in runs.values():  # until they have really ended
            await asyncio.to_thread(client.wait, room.store, run, timeout=60)
        outcome = await asyncio.to_thread(truth.value, room.store, question, runs)
        if outcome.value is None:
            return outcome.problem or "The runs told no value."
        words = f"{question.value_words(outcome.value)} ({outcome.words})"
        async with room.lock:
            if still():
                await room.explain({"value": outcome.value, "words": words})
        return ""

    try:
        problem = await show()
    except WorkshopError as error:
        problem = str(error)
    except Exception:
        log.exception("the answer of question %s could not be computed", question.id)
        problem = FAULT
    async with room.lock:
        if problem and still():  # the round ends in a state from which its host can go on
            await room.become(live.failed(room.state, problem))
