"""Who of some processes ended first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support import starts_processes, until
from workshop.sessions.engines import ExitWatcher


@pytest.fixture
@starts_processes
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    with ExitStack() as stack:
        waiting = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        started = [stack.enter_context(subprocess.Popen(waiting, stdin=subprocess.PIPE)) for _ in range(3)]
        for process in started:
            stack.callback(process.kill)
        yield started


def test_the_first_to_end_is_told_with_its_signal(processes: list[subprocess.Popen[bytes]]) -> None:
    exit_watcher = ExitWatcher(process.pid for process in processes)
    assert exit_watcher.first is None
    os.kill(processes[1].pid, signal.SIGTERM)
    assert until(lambda: exit_watcher.first, 20, "the exit_watcher") == (processes[1].pid, signal.SIGTERM)
    processes[0].kill()
    processes[0].wait()
    assert exit_watcher.first == (processes[1].pid, signal.SIGTERM)


def test_one_that_has_ended_before(processes: list[subprocess.Popen[bytes]]) -> None:
    processes[2].kill()
    processes[2].wait()
    exit_watcher = ExitWatcher(process.pid for process in processes)
    assert exit_watcher.first == (processes[2].pid, None)


def test_an_end_without_a_signal(processes: list[subprocess.Popen[bytes]]) -> None:
    exit_watcher = ExitWatcher([processes[0].pid])
    assert processes[0].stdin is not None
    processes[0].stdin.close()
    assert until(lambda: exit_watcher.first, 20, "the exit_watcher") == (processes[0].pid, None)
