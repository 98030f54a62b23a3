"""How long to wait for something on a machine that may have more to do: limits grow with its load."""

from __future__ import annotations

import os

MOST_PATIENCE = 6.0  # times by which a limit may grow


def patient(seconds: float, load: float | None = None, cores: int | None = None) -> float:
    """A limit for this machine as it is now: an idle machine's limit times the processes that want a core, divided by
    the cores, but at most `MOST_PATIENCE` times as long.

    `load` is how many processes want a core (None: in the last minute here), `cores` how many cores there are (None:
    here). The load changes, so ask again while you wait.
    """
    load = os.getloadavg()[0] if load is None else load
    return seconds * min(max(load / (cores or os.cpu_count() or 1), 1.0), MOST_PATIENCE)
