"""Messages between every two ranks of a run, counted by Open MPI itself.

Its component `monitoring` counts what a rank hands to the network: the messages of the program, and apart from them the
messages of which collectives are made. Through MPI_T, the MPI's interface for tools, each rank has it write its counts
into a file whenever the run's activity changes, so that each activity has counts of its own. Counting is switched on
before ranks start (`COUNTING`), and takes time in each message, so measured runs are without it.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError
from workshop.engine.context import RankContext, library
from workshop.extension import MESSAGES
from workshop.mpi.tool_interface import COUNTING, MONITORING, call

FLUSH, GENERIC = b"pml_monitoring_flush", 9  # the variable that writes a file, and its class in Open MPI's mpi.h
KINDS = {"E": "program", "I": "inside", "C": "buffers"}  # letters of the file's lines
MOST_ACTIVITIES = 20  # activities that have counts of their own; later ones are added to the last of them


@cache
def _counter() -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
    """The session and handle of this process. Open MPI's component crashes when a process opens a second handle, so
    all runs of a rank use this one. Raises WorkshopError where the MPI refuses."""
    session, handle = ctypes.c_void_p(), ctypes.c_void_p()
    index, length = ctypes.c_int(), ctypes.c_int()
    call("MPI_T_pvar_session_create", ctypes.byref(session))
    call("MPI_T_pvar_get_index", FLUSH, GENERIC, ctypes.byref(index))
    call("MPI_T_pvar_handle_alloc", session, index, None, ctypes.byref(handle), ctypes.byref(length))
    return session, handle


def is_wanted() -> bool:
    """Whether this rank's environment asks for message counts."""
    return os.environ.get(MONITORING) == COUNTING[MONITORING]


def free(comm: Any) -> None:
    """Free a communicator, except where messages are counted: Open MPI's component keeps a pointer into each
    communicator, and crashes when it writes the counts of a freed one. Collective."""
    if not is_wanted():
        comm.Free()


class MessageCounts:
    """The counts of one rank, by activity. Only its end is collective."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.activities: list[tuple[str, dict[str, NDArray[np.int64]]]] = []
        self.obstacle = "" if library().startswith("Open MPI") else f"{library()} doesn't count messages"
        self._flush()  # counts of before the run

    def _flush(self) -> dict[str, NDArray[np.int64]]:
        """The counts since the last call, which begin again at 0. The first refusal becomes the obstacle."""
        with tempfile.TemporaryDirectory(prefix="workshop-") as folder:
            if not self.obstacle:
                try:
                    session, handle = _counter()
                    call("MPI_T_pvar_start", session, handle)
                    call("MPI_T_pvar_write", session, handle, str(Path(folder) / "counts").encode())
                    call("MPI_T_pvar_stop", session, handle)
                except WorkshopError as error:
                    self.obstacle = str(error).rstrip(".")
            return counts("".join(file.read_text() for file in Path(folder).iterdir()), self.size)

    def begin(self, activity: str) -> None:
        """From now on messages belong to this activity."""
        if self.obstacle:
            return
        if self.activities:
            self._add()
        if len(self.activities) < MOST_ACTIVITIES:
            self.activities.append((activity, counts("", self.size)))

    def _add(self) -> None:
        for kind, counted in self._flush().items():
            self.activities[-1][1][kind] += counted

    def end(self, ctx: RankContext) -> None:
        """Rank 0 keeps the counts of all ranks as an artifact, or the reason why there are none. Collective."""
        if not self.obstacle and self.activities:
            self._add()
        gathered = ctx.comm.gather((socket.gethostname(), self.obstacle, self.activities))
        if gathered is not None:
            ctx.artifact(MESSAGES, json.dumps(document(gathered)).encode(), "application/json")


def counts(text: str, size: int) -> dict[str, NDArray[np.int64]]:
    """What one rank sent, int64 (2, size): bytes and messages to each rank; by kind, from a file of Open MPI's. Lines
    that say something else are left out."""
    read = {kind: np.zeros((2, size), np.int64) for kind in KINDS.values()}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 6 or words[0] not in KINDS or not all(words[place].isdecimal() for place in (2, 3, 5)):
            continue
        if int(words[2]) < size:
            read[KINDS[words[0]]][:, int(words[2])] += int(words[3]), int(words[5])
    return read


def document(ranks: list[tuple[str, str, list[tuple[str, dict[str, NDArray[np.int64]]]]]]) -> dict[str, Any]:
    """The counts of all ranks: `hosts` by rank, and `activities` with the bytes and messages of each kind, by sender
    and receiver. Where ranks were not at the same activities, there is one for all. `obstacle` says why there is none.
    """
    hosts = [host for host, _, _ in ranks]
    obstacle = next((why for _, why, _ in ranks if why), "")
    if obstacle:
        return {"hosts": hosts, "obstacle": obstacle, "activities": []}
    names = [[name for name, _ in activities] for _, _, activities in ranks]
    rows = [[counted for _, counted in activities] for _, _, activities in ranks]
    if any(other != names[0] for other in names):
        names = [["the whole run"]]
        rows = [[{kind: np.sum([counted[kind] for counted in row], axis=0) for kind in KINDS.values()}] for row in rows]
    return {
        "hosts": hosts,
        "obstacle": "",
        "activities": [
            {
                "name": name,
                **{
                    kind: {
                        unit: [row[place][kind][axis].tolist() for row in rows]
                        for axis, unit in enumerate(("bytes", "messages"))
                    }
                    for kind in KINDS.values()
                },
            }
            for place, name in enumerate(names[0])
        ],
    }
