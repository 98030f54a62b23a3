"""For how long nothing was heard of each rank of a run.

Ranks say once a second that they live, from a thread of their own: one that is silent for long was stopped, or is
ending without ever being done with that. Only time that was spent listening counts: a conductor that was stopped itself
has heard of nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from workshop.core.patience import patient
from workshop.core.processes import is_stopped

SILENT = 30.0  # seconds of an idle machine; a rank that loads a library on a busy one can be deaf for long
GAP = 1.0  # seconds between two looks that count, at most


class Silence:
    """Of the ranks of one run, which began now."""

    def __init__(self) -> None:
        self._looked: float | None = None
        self._heard: dict[int, float] = {}
        self._silent: dict[int, float] = {}

    def look(
        self, heard: Mapping[int, float], is_stopped: Callable[[int], bool], now: float | None = None
    ) -> int | None:
        """The rank that has been silent for too long, or None; to be asked several times a second.

        `heard`: when each rank was last heard of, `now`: the time, both on the monotonic clock. A rank that
        `is_stopped` is not waited for any longer because the machine is busy."""
        now = time.monotonic() if now is None else now
        spent = min(now - self._looked, GAP) if self._looked is not None else 0.0
        self._looked = now
        for rank, last in heard.items():
            known = self._heard.get(rank) == last
            self._heard[rank] = last
            self._silent[rank] = self._silent.get(rank, 0.0) + spent if known else 0.0
        if not self._silent:
            return None
        most = max(self._silent, key=self._silent.__getitem__)
        if self._silent[most] <= SILENT:
            return None
        return most if is_stopped(most) or self._silent[most] > patient(SILENT) else None


def words(rank: int, host: str, pid: int | None) -> str:
    """Of a rank that is silent, in one sentence without its full stop; `pid` is its process, where that is here."""
    who = f"rank {rank} ({f'process {pid} ' if pid else ''}on {host})"
    if is_stopped(pid):
        return f"{who} was stopped by a signal (SIGSTOP), and has not gone on within {SILENT:.0f} s"
    return f"{who} has not been heard of for {patient(SILENT):.0f} s"
