"""A time limit for Python code that somebody else wrote."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REMINDER = 0.1  # seconds after which who has swallowed the first reminder gets another one


class TooLong(BaseException):
    """The time is up. Not an Exception, so that `except Exception` in that code doesn't swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block when its time is up. Python loops and sleeps are interrupted. Other calls end first.
    Only the main thread can call it."""
    running = True

    def up(_number: int, _frame: FrameType | None) -> None:
        if running:
            raise TooLong

    before = signal.signal(signal.SIGALRM, up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, REMINDER)
        try:
            yield
        finally:
            running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
