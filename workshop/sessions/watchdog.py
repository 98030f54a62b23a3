"""Ends a conductor whose main thread is stuck. Its session then reads as lost, and `workshop up` starts another
conductor."""

from __future__ import annotations

import faulthandler
import os
import sys
import time

from workshop.core.patience import patient

STUCK = 300.0  # seconds of an idle machine; bringing ranks up takes longest, and has limits of its own
GAP = 2.0  # seconds between two looks that count, at most: who was stopped is not stuck
EXIT_STUCK = 87


class Watchdog:
    """`feed` is called by the thread that must go on, `look` once a second by another one."""

    def __init__(self) -> None:
        self._fed = False
        self._began = False  # nothing is expected before it was fed for the first time
        self._hungry = 0.0
        self._looked = 0.0

    def feed(self) -> None:
        self._fed = self._began = True

    def hungry(self, now: float) -> float:
        """The seconds since the last call of `feed`; `now` is of the monotonic clock."""
        spent = min(now - self._looked, GAP)
        self._looked = now
        self._hungry = 0.0 if self._fed or not self._began else self._hungry + spent
        self._fed = False
        return self._hungry

    def look(self) -> None:
        """End this process where its main thread is stuck, and write to its log what all threads are doing."""
        if self.hungry(time.monotonic()) > patient(STUCK):
            print("The conductor is stuck; it ends itself.", file=sys.stderr, flush=True)
            faulthandler.dump_traceback(all_threads=True)
            os._exit(EXIT_STUCK)
