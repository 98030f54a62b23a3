"""Whether the ranks that are up still answer, which is asked before each run.

A rank that was stopped for a while is alive and may even end its run, but the controller has given it up; one that was
asked to end may wait for the others in MPI_Finalize. A run on such ranks would never begin, and never end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from ipyparallel.error import IPythonError

from workshop.core.patience import patient

ANSWER = 4.0  # seconds within which every rank of an idle machine must have answered; it takes some milliseconds
LOOK = 0.05  # seconds between looks whether anybody still wants to know


def answer(client: Any, pids: Iterable[int], give_up: Callable[[], bool]) -> bool:
    """Whether all of these processes, and no others, answer a call of ipyparallel's client in time; False, too, where
    `give_up` says that nobody waits for that any longer."""
    expected = sorted(pids)
    if len(client.ids) != len(expected):
        return False
    try:
        result = client[:].apply_async(os.getpid)
        began = time.monotonic()
        while not result.ready():
            if time.monotonic() - began > patient(ANSWER) or give_up():
                return False
            result.wait(LOOK)
        return sorted(result.get(0)) == expected
    except (IPythonError, TimeoutError):
        return False
