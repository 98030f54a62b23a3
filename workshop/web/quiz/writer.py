"""Keeping answers: those that come while others are being written are written together, in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from workshop.store.records import QuizAnswer
from workshop.store.store import Store

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
                    except Exception:
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
