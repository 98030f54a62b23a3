"""Runs that measure hold one machine-wide lock, so that two sessions on one machine never measure each other."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workshop.core import file_locks
from workshop.core.errors import WorkshopError

LOCK = Path(tempfile.gettempdir()) / "workshop-measuring.lock"


class GaveUp(WorkshopError):
    """The waiting process has given up its wait for the lock."""


def measured_now() -> bool:
    """Whether somebody holds the machine for measuring."""
    try:
        descriptor = os.open(LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


@contextmanager
def measuring_lock(seconds: float = 600.0, give_up: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the machine for measuring. Raises WorkshopError after `seconds` of waiting, GaveUp as soon as `give_up()`.

    The kernel releases the lock when its holder dies. All users of the machine share it.
    """

    def look() -> None:
        if give_up():
            raise GaveUp("Nobody waits for this measurement any longer.")

    # Another user's file can be locked, but in a sticky /tmp not opened with O_CREAT (fs.protected_regular).
    try:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        os.fchmod(descriptor, 0o666)
    try:
        if not file_locks.lock(descriptor, time.monotonic() + seconds, look):
            raise WorkshopError(
                f"Somebody else has been measuring on this machine for {seconds:.0f} s ({LOCK} is locked); "
                "try again when that has ended."
            )
        yield
    finally:
        os.close(descriptor)
