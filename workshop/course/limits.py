"""A time limit for Python code that somebody else wrote, in this thread and without one that is left behind."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

REMINDER = 0.1  # seconds after which who has swallowed the first reminder gets another one


class TooLong(BaseException):
    """The time is up. Not an Exception, so that `except Exception` in that code doesn't swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TooLong in the block when its time is up. Python loops and sleeps are interrupted. Other calls end first,
    and so does a sleep in a thread other than the main one."""
    if threading.current_thread() is threading.main_thread():
        with _by_signal(seconds):
            yield
    else:
        with _by_watchdog(seconds):
            yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
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


@contextmanager
def _by_watchdog(seconds: float) -> Iterator[None]:
    """A second thread raises the exception in this one, and has ended when this is left."""
    thread_id = ctypes.c_ulong(threading.get_ident())
    over, lock = threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not over.wait(wait):
            with lock:
                if not over.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, ctypes.py_object(TooLong))
            wait = REMINDER

    watchdog = threading.Thread(target=watch, name="limit", daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        for _ in range(3):  # what was raised already may arrive in here
            with suppress(TooLong):
                with lock:
                    over.set()
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, None)  # one that has not arrived yet
                watchdog.join()
                break
