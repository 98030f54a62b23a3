"""Rounds in the store: begun, with a code of their own, and ended; their answers, written together; and the runs that
measure what a question asks for."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import live, truth
from workshop.quiz.deck import Deck
from workshop.quiz.live import RoundState
from workshop.quiz.types.number import Predict
from workshop.sessions import client, lifecycle
from workshop.store.records import Identity, QuizAnswer, QuizRound
from workshop.store.store import Store
from workshop.web.actions import only_instructor
from workshop.web.auth import new_code


def host(
    store: Store,
    deck: Deck,
    folder: Path | str = "",
    *,
    session: str = "",
    speed_bonus: bool = False,
    ranking: bool = True,
    vote_twice: bool = False,
) -> QuizRound:
    """A new live round, in its lobby. With `vote_twice`, learners may talk and vote again before they see the votes.
    `folder` is where the deck's pictures are; `session` is where questions are measured (default: the newest one that
    is up then)."""
    return store.add_round(
        "live",
        deck.model_dump(mode="json"),
        code=new_code(),
        seed=secrets.token_hex(8),
        deck_folder=str(folder),
        session=session,
        settings={"speed_bonus": speed_bonus, "ranking": ranking, "vote_twice": vote_twice},
        state=RoundState().as_json(),
    )


def end_round(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round in the store, which its room follows; what was answered stays. Raises BadInput for learners, and
    where the round has ended already."""
    only_instructor(identity)
    record = store.round(round_id)
    if record.kind != "live":
        raise BadInput(f"Quiz round {round_id} is not a live one; it ends with its last answer.")
    former = RoundState.from_json(record.state)
    store.set_round_state(round_id, live.end(former).as_json(), ended=True, former=former.version)
    cancel_runs(store, former.runs)


def links(address: str, record: QuizRound) -> dict[str, Any]:
    """Where a round is joined, hosted and shown, under the address of a dashboard."""
    return {
        "join": f"{address}/quiz?{urlencode({'code': record.code or ''})}",
        "host": f"{address}/quiz/{record.id}/host",
        "projector": f"{address}/quiz/{record.id}/projector",
    }


def measure(store: Store, name: str, question: Predict, identity: Identity | None) -> dict[str, int]:
    """Have the question's runs made in the session of this name; "": in the newest one that is up and is nobody's own.
    Returns run ids by name. Raises BadInput."""
    session = store.session(name) if name else lifecycle.newest_session(store)
    if not session.up:
        raise BadInput(f"Session {name} is {session.state}; start it, so that the answer can be measured.")
    return truth.submit(store, session, question, identity)


def progress(store: Store, runs: Mapping[str, int]) -> tuple[float, bool]:
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


def cancel_runs(store: Store, runs: Mapping[str, int]) -> None:
    """End runs that nobody waits for any more."""
    for run in runs.values():
        with suppress(WorkshopError):  # it has ended by itself
            client.cancel(store, run)


log = logging.getLogger(__name__)
OnStored = Callable[[bool | None], None]  # True: this one is kept; False: there was one; None: it could not be written


class AnswerWriter:
    """Writes the answers of all rounds. Belongs to the event loop, which calls `on_stored` in the answers' order."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._waiting: list[tuple[QuizAnswer, OnStored]] = []
        self._task: asyncio.Task[None] | None = None

    def put(self, answer: QuizAnswer, on_stored: OnStored) -> None:
        """Write an answer, then call `on_stored`."""
        self._waiting.append((answer, on_stored))
        if self._task is None:
            self._task = asyncio.create_task(self._work(), name="quiz answers")

    async def flush(self) -> None:
        """Until all that was put before is written and its authors are told."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _work(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                outcomes = await asyncio.to_thread(self._write, batch)
                for (_, on_stored), outcome in zip(batch, outcomes, strict=True):
                    try:
                        on_stored(outcome)
                    except Exception:  # the other answers of the batch are told all the same
                        log.exception("could not tell of an answer")
        finally:
            self._task = None

    def _write(self, batch: list[tuple[QuizAnswer, OnStored]]) -> list[bool | None]:
        try:
            return list(self.store.keep_answers([answer for answer, _ in batch]))
        except Exception:
            if len(batch) == 1:
                log.exception("could not keep an answer")
                return [None]
        # An answer is wrong, or the store is: writing them one by one keeps the others safe.
        return [outcome for pair in batch for outcome in self._write([pair])]
