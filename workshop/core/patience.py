"""How long to wait for something on a machine that may have more to do: limits grow with its load."""

from __future__ import annotations

import os

MOST = 6.0  # times by which a limit may grow


def patient(seconds: float, load: float | None = None, cores: int | None = None) -> float:
    """A limit that holds on an idle machine, for this machine as it is now: twice as long where twice as many processes
    want a core as there are cores, and at most `MOST` times as long.

    `load` is how many processes want a core, None: in the last minute here; `cores` is how many there are, None: those
    of this machine. To be asked again while one waits, since the load changes.
    """
    load = os.getloadavg()[0] if load is None else load
    return seconds * min(max(load / (cores or os.cpu_count() or 1), 1.0), MOST)
