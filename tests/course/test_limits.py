"""Code that doesn't end is ended, and nothing is left of it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from workshop.course.exercise_checks import TooLong, limit

SHORT = 0.1
ENOUGH = 1.0  # for code that ends at once, also on a machine that lets it wait


# As learners write it.
LOOPS = """
def endless():
    while True:
        pass


def stubborn():
    while True:
        try:
            pass
        except:
            pass


def swallowing():
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass
"""
written: dict[str, Any] = {"time": time}
exec(LOOPS, written)
each = pytest.mark.parametrize("name", ["endless", "stubborn", "swallowing"])


def limited(code: Callable[[], None], seconds: float = SHORT) -> bool:
    try:
        with limit(seconds):
            code()
    except TooLong:
        return True
    return False


@each
def test_loop_without_end_is_ended(name: str) -> None:
    assert limited(written[name])


def test_quick_code_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert not limited(lambda: None, ENOUGH)
    time.sleep(ENOUGH + SHORT)  # no alarm comes late
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_other_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), limit(ENOUGH):
        raise ZeroDivisionError
