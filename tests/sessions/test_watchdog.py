"""A conductor whose main thread is stuck ends itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workshop.sessions.watchdog import EXIT_STUCK, GAP, Watchdog

STUCK = """
import threading, time
from workshop.core import patience
from workshop.sessions import watchdog
watchdog.STUCK, patience.MOST_PATIENCE = 0.5, 1.0
dog = watchdog.Watchdog()
def look():
    while True:
        dog.look()
        time.sleep(0.1)
threading.Thread(target=look, daemon=True).start()
def wait_for_ever():
    threading.Event().wait()
dog.feed()
wait_for_ever()
"""


def test_only_seconds_without_food_count() -> None:
    dog = Watchdog()
    assert [dog.hungry(now) for now in (1000.0, 1500.0)] == [0.0, 0.0], "nobody has begun to feed it"
    dog.feed()
    assert [dog.hungry(now) for now in (1501.0, 1502.0, 1503.0)] == [0.0, 1.0, 2.0]
    assert dog.hungry(2000.0) == 2.0 + GAP, "a process that was stopped is not stuck"
    dog.feed()
    assert dog.hungry(2001.0) == 0.0


@pytest.mark.real
def test_a_stuck_process_ends_and_says_where() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120)
    assert ended.returncode == EXIT_STUCK
    assert "stuck" in ended.stderr and "wait_for_ever" in ended.stderr
