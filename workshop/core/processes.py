"""Finding and ending the processes that belong to a session, by a tag in their environment that children inherit.

Locks on open files. The kernel takes a lock back from a process that ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Collection
from contextlib import suppress
from typing import IO

import psutil

from workshop.core import config

TAG = "WORKSHOP_SESSION_TAG"  # every process of a session
UP_TAG = "WORKSHOP_UP"  # every process under a `workshop up`, whose number it is
ENGINES_TAG = "WORKSHOP_ENGINES_TAG"  # every process of one set of engines
KILLED = 10.0  # seconds within which those have ended that were killed


def session_tag(session_id: int) -> str:
    """The mark of every process of a session, on this machine and for this state folder."""
    return f"{config.home()}#{session_id}"


def tagged(name: str, value: str, but: Collection[str] = ()) -> list[psutil.Process]:
    """This user's processes that carry the tag, without this process and without processes that carry a tag in
    `but`."""
    processes = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        with contextlib.suppress(psutil.Error, OSError):
            variables = process.environ()
            if variables.get(name) != value or not variables.keys().isdisjoint(but):
                continue
            if process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
    return processes


def alive(process: psutil.Process) -> bool:
    """Whether this very process still runs. A process that has ended, but that its parent has not waited for, doesn't
    run."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def is_stopped(pid: int | None) -> bool:
    """Whether a process of this machine was stopped by a signal."""
    try:
        return pid is not None and psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def command(process: psutil.Process) -> list[str]:
    """The command line of a process; empty for a process that has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def has_tag(pid: int, name: str, value: str) -> bool:
    """Whether a living process with that number carries the tag."""
    try:
        process = psutil.Process(pid)
        return alive(process) and process.environ().get(name) == value
    except (psutil.Error, OSError):
        return False


def kill(pid: int, name: str, value: str) -> None:
    """Kill a process if it is there and carries the tag; numbers are reused."""
    if has_tag(pid, name, value):
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).kill()


def family(pid: int | None) -> list[psutil.Process]:
    """A process and all its descendants; empty where no process has that number."""
    try:
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)] if pid else []
    except psutil.Error:
        return []


def kill_all(family: Collection[psutil.Process]) -> None:
    """Kill those of these processes that still run."""
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()  # psutil knows that its number isn't another's by now


def end_all(name: str, value: str, seconds: float = 3.0, but: Collection[str] = ()) -> int:
    """End every process that carries the tag and no tag in `but`: ask, wait at most `seconds`, kill, and wait at most
    KILLED seconds more. Returns the number of processes."""
    ended: set[int] = set()
    deadline = time.monotonic() + seconds
    while processes := tagged(name, value, but):
        patient = time.monotonic() < deadline
        for process in processes:
            if patient and process.pid in ended:
                continue
            ended.add(process.pid)
            with contextlib.suppress(psutil.Error):
                process.terminate() if patient else process.kill()
        psutil.wait_procs(processes, timeout=0.2)
        if time.monotonic() > deadline + KILLED:
            break  # in uninterruptible sleep: nobody can end those
    return len(ended)


LOOK = 0.1  # seconds between two tries


def lock(file: int | IO[str], deadline: float) -> bool:
    """Take a lock alone as soon as nobody else has it. False where that isn't before `deadline`, a moment of the
    monotonic clock."""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
