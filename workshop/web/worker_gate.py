"""The gate for heavy work, above all questions to an MPI's mapper, which start processes.

A few threads of its own do the work, never the threads that answer requests, and each person has a share of the places.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from workshop.web.limits import QUESTIONS, Shares, TooManyRequests

T = TypeVar("T")

WORKERS = 2
MOST_WAITING = 512  # a class of 130 may send an answer each at once, and go on to the next question
RESERVED = 16  # so many of these places are only for the answers of live rounds, for which a class waits
BUSY = "The server is busy with what others have asked; please try again in a few seconds."


class Gate:
    """Work in the order in which it was asked for. Any thread may ask."""

    def __init__(
        self, share: int = QUESTIONS, workers: int = WORKERS, most: int = MOST_WAITING, reserved: int = 0
    ) -> None:
        """One person may have `share` at once, and at most `most` may wait; the last `reserved` places are for callers
        who ask for them."""
        self._shares = Shares("questions to the mapper at once", share)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="heavy work")
        self._open = threading.BoundedSemaphore(workers + most - reserved)
        self._reserved = threading.BoundedSemaphore(reserved)

    def begin(self, person: Hashable, work: Callable[[], T], *, reserved: bool = False) -> Future[T]:
        """Queue a function; `reserved` callers may use the last places. Cancelling the future removes work that has not
        begun. Raises TooManyRequests where the person has their share of work here, or no place is free."""
        self._shares.take(person)
        places = [self._open, self._reserved] if reserved else [self._open]
        place = next((free_place for free_place in places if free_place.acquire(blocking=False)), None)
        if place is None:
            self._shares.give_back(person)
            raise TooManyRequests(BUSY)

        def done(_: Future[T]) -> None:
            place.release()
            self._shares.give_back(person)

        future = self._pool.submit(work)
        future.add_done_callback(done)
        return future

    async def do(self, person: Hashable, work: Callable[[], T], *, reserved: bool = False) -> T:
        """Queue a function as `begin` does, and wait for it without blocking the event loop. Cancelling removes it.
        Raises TooManyRequests, and errors of the function."""
        return await asyncio.wrap_future(self.begin(person, work, reserved=reserved))

    def wait(self, person: Hashable, work: Callable[[], T], seconds: float) -> T:
        """Have something done and wait for it in this thread. Raises what the work raises, and TooManyRequests
        also where it isn't done within so many seconds."""
        future = self.begin(person, work)
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # the work's own
                raise
            future.cancel()
            raise TooManyRequests(BUSY) from None


@cache
def gate() -> Gate:
    """The gate of this process's server."""
    return Gate(reserved=RESERVED)
