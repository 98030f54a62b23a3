"""Locks on open files. The kernel takes a lock back from a process that ends, however it ends."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO

LOOK = 0.1  # seconds between two tries


def lock(file: int | IO[str], deadline: float, waiting: Callable[[], object] = lambda: None) -> bool:
    """Take a lock alone as soon as nobody else has it. False where that isn't before `deadline`, a moment of the
    monotonic clock. `waiting` is called again and again while somebody else has it."""
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        waiting()
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
