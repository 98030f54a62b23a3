"""Runs that measure hold one machine-wide lock, so that two sessions on one machine never measure each other.

The lock's file says who holds it, so that whoever waits knows for whom, also where that is another user's process.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from workshop.core import words
from workshop.core.errors import WorkshopError

LOCK = Path(tempfile.gettempdir()) / "workshop-measuring.lock"
LOCK_SECONDS = 12 * 3600.0  # that a command waits for the machine
MOST_BYTES = 200  # bytes that are read of what a holder has written


def holder() -> str:
    """The holder of the machine for measuring, in words; "" where the lock is free, even if the file names a holder."""
    try:
        descriptor = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return ""
    except BlockingIOError:  # any user may write into the file
        sentence = re.sub("[^ -~]", "?", os.pread(descriptor, MOST_BYTES, 0).decode(errors="replace"))
        return sentence or "a process that has not said its name"
    finally:
        os.close(descriptor)


def refuse_wait() -> None:
    """Raise WorkshopError where somebody else measures on this machine now."""
    if by := holder():
        raise WorkshopError(f"Somebody else measures on this machine now: {by}. Try again later, or without --no-wait.")


@contextmanager
def machine_held(command: str = "") -> Iterator[bool]:
    """Hold the machine for measuring as `command`, by default this process's without its options and files, if it is
    free now; yields whether it was."""
    # Another user's file can be locked, but in a sticky /tmp not opened with O_CREAT (fs.protected_regular).
    try:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        os.fchmod(descriptor, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield False
        return
    plain = takewhile(re.compile(r"[a-z][a-z0-9-]*").fullmatch, sys.argv[1:])
    what = command or " ".join([Path(sys.argv[0]).name, *plain])
    sentence = f"process {os.getpid()} ({what}) of user {_user()}, since {words.moment(time.time())}"
    try:
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # a full disk keeps nobody from measuring
            os.pwrite(descriptor, sentence.encode(), 0)
        yield True
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container, a user's number may have no name
        return str(os.getuid())


def waiting(what: str, by: str) -> str:
    """A sentence about the wait for the machine: who waits, and for whom."""
    return f"{what} waits until this machine is free for measuring; it is held by {by}."
