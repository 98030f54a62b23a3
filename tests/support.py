"""What tests share: limits of time, conditions to wait for, and what a test needs of its machine."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from workshop.core.patience import patient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

SHORTEST = 20.0  # seconds: a shorter limit can be reached by chance on a machine that has more to do
PATIENCE = "WORKSHOP_TEST_PATIENCE"  # the variable with the factor of all limits; worker processes inherit it


# At least 2, since the tests themselves occupy two cores; at most 5, so that a test that hangs ends before the run.
os.environ.setdefault(PATIENCE, f"{min(patient(2.0), 5.0):.1f}")


def limit(seconds: float) -> float:
    """The seconds that a test waits at most, where an idle machine needs fewer than `seconds`."""
    return max(seconds, SHORTEST) * float(os.environ[PATIENCE])


def starts_processes(fixture: F) -> F:
    """Decorator of a fixture function that starts processes: every test that uses the fixture is `real`."""
    fixture.__dict__["starts_processes"] = True  # tests/tiers.py reads it
    return fixture


def need(condition: object, reason: str) -> None:
    """Skip a test on a laptop that lacks something; in CI, where everything is installed, fail instead."""
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI lacks what this test needs: {reason}")
    pytest.skip(reason)


def until(condition: Callable[[], T], seconds: float, what: str) -> T:
    """Wait until a condition is true, at most `limit(seconds)`; return its value. Fails with `what` was waited for."""
    longest = limit(seconds)
    deadline = time.monotonic() + longest
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {longest:.0f} s for {what}")
        time.sleep(0.05)
    return value


def plain_cells(html: str) -> str:
    """HTML of tables without the names that a phone shows beside the cells."""
    return re.sub(' data-name="[^"]*"', "", html)
