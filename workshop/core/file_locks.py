"""Locks on open files. The kernel takes a lock back from a process that ends, however it ends."""

from __future__ import annotations

import fcntl
import time
from contextlib import suppress
from typing import IO

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
