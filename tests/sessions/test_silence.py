"""Ranks of which nothing is heard any longer."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.support import until
from workshop.core.patience import MOST_PATIENCE
from workshop.sessions import run_monitor


def looks(
    told: run_monitor.Silence, seconds: float, since: float, stopped: bool = False, gap: float = 0.3
) -> int | None:
    """What is said after so many seconds in which rank 0 was heard of, and rank 1 was not."""
    for step in range(int(seconds / gap) + 1):
        now = since + step * gap
        found = told.look({0: now, 1: since}, lambda rank: stopped, now)
    return found


def test_a_rank_that_is_silent_for_too_long_is_named() -> None:
    assert looks(run_monitor.Silence(), run_monitor.SILENT - 5, 1000.0) is None
    assert looks(run_monitor.Silence(), run_monitor.SILENT * MOST_PATIENCE + 5, 1000.0) == 1
    assert looks(run_monitor.Silence(), run_monitor.SILENT + 5, 1000.0, stopped=True) == 1


def test_only_time_spent_listening_counts() -> None:
    assert looks(run_monitor.Silence(), 100 * run_monitor.SILENT, 1000.0, gap=50 * run_monitor.SILENT) is None


def test_a_rank_that_is_heard_of_again_is_fine() -> None:
    told = run_monitor.Silence()
    assert looks(told, run_monitor.SILENT - 5, 1000.0) is None
    assert looks(told, run_monitor.SILENT - 5, 2000.0) is None


@pytest.mark.real
def test_a_stopped_process_is_called_so() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert not run_monitor.is_stopped(process.pid)
        assert "has not been heard of for" in run_monitor.silence_words(1, "vm", process.pid)
        process.send_signal(signal.SIGSTOP)
        until(lambda: run_monitor.is_stopped(process.pid), 60, "the process to be stopped")
        assert run_monitor.silence_words(1, "vm", process.pid).startswith(
            f"rank 1 (process {process.pid} on vm) was stopped by a signal (SIGSTOP)"
        )
        process.kill()
    assert not run_monitor.is_stopped(process.pid) and not run_monitor.is_stopped(None)


STUCK = """
import threading
from workshop.sessions import run_monitor
run_monitor.STUCK = 0.5
def wait_for_ever():
    threading.Event().wait()
run_monitor.alive()
wait_for_ever()
"""


@pytest.mark.real
def test_a_stuck_conductor_ends_and_says_where() -> None:
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1 and "wait_for_ever" in ended.stderr
