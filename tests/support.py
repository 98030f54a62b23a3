"""What tests share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def need(condition: object, reason: str) -> None:
    """Skip a test on a laptop that lacks something; in CI, where everything is installed, fail instead."""
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI lacks what this test needs: {reason}")
    pytest.skip(reason)


def until(condition: Callable[[], T], seconds: float, what: str) -> T:
    """Wait for something to become true and return it; fail by name when it doesn't in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)
    return value
