"""How long to wait for something on a machine that may have more to do: limits grow with its load."""

from __future__ import annotations

import os

MOST_PATIENCE = 6.0  # times by which a limit may grow


def patient(seconds: float) -> float:
    """A limit for this machine as it is now: an idle machine's limit times the processes that wanted a core in the last
    minute, divided by the cores, but at most `MOST_PATIENCE` times as long. The load changes, so ask again while you
    wait."""
    return seconds * min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), MOST_PATIENCE)
