"""MPI_T, the MPI's interface for tools, of the MPI that this process has loaded."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from workshop.core.errors import WorkshopError

MONITORING = "OMPI_MCA_pml_monitoring_enable"  # with 1, Open MPI counts all messages of a rank together
COUNTING = {MONITORING: "2"}  # and so it counts those inside collectives by themselves


@cache
def _library() -> Any:
    with open("/proc/self/maps") as maps:
        path = next((line.split()[-1] for line in maps if "/libmpi.so" in line), None)
    library = ctypes.CDLL(path)
    library.MPI_T_init_thread(0, ctypes.byref(ctypes.c_int()))
    return library


def call(name: str, *arguments: Any) -> None:
    """Call a function of the interface. Raises WorkshopError where it refuses."""
    if code := getattr(_library(), name)(*arguments):
        raise WorkshopError(f"Open MPI's interface for tools refuses {name} with code {code}.")
