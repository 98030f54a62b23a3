"""Runs that measure hold one machine-wide lock, so that two sessions on one machine never measure each other.

The lock's file says who holds it, so that whoever waits knows for whom, also where that is another user's process.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path

from workshop.core import words
from workshop.core.errors import WorkshopError

LOCK = Path(tempfile.gettempdir()) / "workshop-measuring.lock"
LOCK_SECONDS = 12 * 3600.0  # that a command waits for the machine
MOST_BYTES = 4096  # bytes that are read of what a holder has written
LONGEST_WORD = 60  # characters of a command or a user


@dataclass(frozen=True)
class Holder:
    """The process that holds the machine for measuring. `pid` is 0 where the process has not written its number."""

    pid: int = 0
    command: str = ""
    user: str = ""
    since: float = 0.0  # seconds since the epoch

    def __str__(self) -> str:
        if not self.pid:
            return "a process that has not said its name"
        return f"process {self.pid} ({self.command}) of user {self.user}, since {words.moment(self.since)}"


def holder() -> Holder | None:
    """The holder of the machine for measuring; None where the lock is free, even if the file names a holder."""
    try:
        descriptor = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return None
    except BlockingIOError:
        return _read(os.pread(descriptor, MOST_BYTES, 0))
    finally:
        os.close(descriptor)


def refuse_wait() -> None:
    """Raise WorkshopError where somebody else measures on this machine now."""
    if (by := holder()) is not None:
        raise WorkshopError(f"Somebody else measures on this machine now: {by}. Try again later, or without --no-wait.")


@contextmanager
def machine_held(command: str = "") -> Iterator[bool]:
    """Hold the machine for measuring as `command`, by default this process's, if it is free now; yields whether it
    was."""
    with _opened() as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        _write(descriptor, Holder(os.getpid(), command or _command(), _user(), time.time()))
        try:
            yield True
        finally:
            os.ftruncate(descriptor, 0)


def waiting(what: str, by: Holder) -> str:
    """A sentence about the wait for the machine: who waits, and for whom."""
    return f"{what} waits until this machine is free for measuring; it is held by {by}."


@contextmanager
def _opened() -> Iterator[int]:
    # Another user's file can be locked, but in a sticky /tmp not opened with O_CREAT (fs.protected_regular).
    try:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        os.fchmod(descriptor, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, holder: Holder) -> None:
    os.ftruncate(descriptor, 0)
    with suppress(OSError):  # a full disk keeps nobody from measuring
        os.pwrite(descriptor, json.dumps(asdict(holder)).encode(), 0)


def _read(data: bytes) -> Holder:
    """The holder's entry. Any user may write into the file, so an unreadable entry counts as none."""
    with suppress(ValueError, TypeError, KeyError, OverflowError):
        record = json.loads(data)
        command, user = (re.sub(r"[^ -~]", "?", str(record[name]))[:LONGEST_WORD] for name in ("command", "user"))
        return Holder(int(record["pid"]), command, user, min(max(float(record["since"]), 0.0), time.time()))
    return Holder()


def _command() -> str:
    """This process's command without options and files, which all users may see."""
    return " ".join([Path(sys.argv[0]).name, *takewhile(re.compile(r"[a-z][a-z0-9-]*").fullmatch, sys.argv[1:])])


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container, a user's number may have no name
        return str(os.getuid())
