"""Processes end with their parents, and whatever carries a session's tag can be found and ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support import limit, until
from workshop.core import processes
from workshop.core.parent_death import guarded
from workshop.sessions import lifecycle

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_private_sessions_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a class's kernels have the same number in the same second, each in its container."""
    monkeypatch.setattr(os, "getpid", lambda: 4_194_304)  # the longest that there is
    monkeypatch.setattr(time, "time", lambda: 1_790_000_000.0)
    names = {lifecycle.private_name("notebook") for _ in range(100)}
    assert len(names) == 100
    assert all(re.fullmatch(r"[a-z0-9-]{1,40}", name) for name in names), "which sessions can have"


@pytest.mark.real
def test_a_guarded_program_ends_with_its_parent(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    parent = (
        "import subprocess, sys, time\n"
        "from workshop.core.parent_death import guarded\n"
        f"child = subprocess.Popen(guarded({SLEEP!r}))\n"
        "time.sleep(1)\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent])
    until(pid_file.exists, 20, "the child to start")
    child = int(until(pid_file.read_text, 20, "the child's pid"))
    assert psutil.pid_exists(child)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: not psutil.pid_exists(child), 20, "the child to end")


@pytest.mark.real
def test_the_kernel_ends_what_is_expendable_first() -> None:
    show = ["cat", "/proc/self/oom_score_adj"]
    told = [
        subprocess.run(guarded(show, expendable=wanted), capture_output=True, text=True, timeout=limit(30)).stdout
        for wanted in (True, False)
    ]
    assert told == ["1000\n", Path("/proc/self/oom_score_adj").read_text()]


@pytest.mark.real
def test_a_guarded_program_whose_parent_is_dead_already_does_not_start() -> None:
    command = guarded([sys.executable, "-c", "print('started')"])
    command[3] = "1"  # somebody who isn't our parent
    ended = subprocess.run(command, capture_output=True, text=True, timeout=limit(30))
    assert (ended.returncode, ended.stdout) == (1, "")


@pytest.mark.real
def test_tagged_processes_are_found_and_ended(workshop_home: Path) -> None:
    ignoring = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    deaf = [sys.executable, "-c", ignoring]
    environment = os.environ | {processes.TAG: "ours"}
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for command in (SLEEP, deaf)]
    other = subprocess.Popen(SLEEP, env=os.environ | {processes.TAG: "theirs"})
    try:
        assert started[1].stdout is not None and started[1].stdout.readline() == b"deaf\n"
        until(lambda: len(processes.tagged(processes.TAG, "ours")) == 2, 20, "both to have their environment")
        assert {process.pid for process in processes.tagged(processes.TAG, "ours")} == {p.pid for p in started}
        assert processes.end_all(processes.TAG, "ours", seconds=0.5) == 2
        assert processes.tagged(processes.TAG, "ours") == []
        assert all(process.poll() is not None for process in started)  # dead, whoever has waited for them
        assert other.poll() is None
        processes.kill(other.pid, processes.TAG, "ours")
        assert other.poll() is None, "another tag is another's process"
    finally:
        for process in [*started, other]:
            process.kill()
            process.wait()
