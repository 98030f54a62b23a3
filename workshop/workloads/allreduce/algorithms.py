"""Which algorithm Open MPI chose for a collective, told from the messages that it sent.

The release builds of Open MPI 5 don't say which algorithm they chose: its decision functions write to the log only in
builds for debugging. So this module compares messages. Through MPI_T, the MPI's interface for tools, it reads the
counters of Open MPI's monitoring: how many messages and bytes each rank sent to each other one in one call. Then it
orders each algorithm of the component `tuned`, calls the collective again, and keeps the algorithms that sent the same
messages. The order holds for communicators that are made after it (coll_tuned_module.c).

Several algorithms may send the same messages, on two ranks above all. The messages can't tell these apart, and don't
tell their sequence. An order doesn't cut messages into segments: no algorithm fits where the MPI's choice does. On
several hosts the component `han` combines algorithms, and the algorithms of `tuned` alone don't tell its choice.
MPICH and Intel MPI have no such counters: see `UNKNOWN`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from workshop.engine import message_counts
from workshop.mpi.tool_interface import call
from workshop.workloads.allreduce import COUNTED
from workshop.workloads.allreduce.operations import buffers, collective

UNKNOWN = {
    "Open MPI": "Open MPI counts messages only with "
    + " and ".join(f"{key}={value}" for key, value in COUNTED.items()),
    "MPICH": "MPICH doesn't say which algorithm it chose; MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM and its like order one",
    "Intel MPI": "Intel MPI doesn't say which algorithm it chose; I_MPI_ADJUST_ALLREDUCE and its like order one",
}
COUNTERS = ("pml_monitoring_messages_count", "pml_monitoring_messages_size")
OF_SIZE = 2  # MPI_T's class of these counters, MPI_T_PVAR_CLASS_SIZE in Open MPI's mpi.h
LONG = 256  # characters of a name


def unknown_algorithms(comm: Any) -> str:
    """Why the algorithms can't be known on these ranks, in half a sentence; "" where they can. Collective."""
    vendor, _ = MPI.get_vendor()
    if vendor != "Open MPI" or any(os.environ.get(name) != value for name, value in COUNTED.items()):
        return UNKNOWN.get(vendor, f"{vendor} doesn't say which algorithm it chose")
    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    alone = comm.allreduce(host.Get_size(), op=MPI.MIN) == comm.Get_size()
    message_counts.free(host)
    return "" if alone else "On several hosts Open MPI puts several algorithms together, which its messages don't tell"


def algorithms_of(comm: Any, name: str, sizes: Sequence[int]) -> list[list[str]]:
    """By size in bytes, the algorithms that send the same messages as Open MPI's choice. Collective, the same on all
    ranks."""
    variable = f"coll_tuned_{name}_algorithm"
    messages = {}
    for algorithm, number in algorithms(variable).items():
        with ordered(variable, number):
            duplicate = comm.Dup()
            messages[algorithm] = [messages_of(comm, duplicate, name, size) for size in sizes]
            message_counts.free(duplicate)
    usual = messages.pop("ignore")  # leaves the choice to the MPI
    return [
        [algorithm for algorithm, counted in messages.items() if counted[place] == usual[place]]
        for place in range(len(sizes))
    ]


def messages_of(comm: Any, duplicate: Any, name: str, size: int) -> list[Any] | None:
    """The messages and the bytes that each rank sends to each rank in a call on the duplicate, by sender; None where
    its algorithm refuses the ranks, such as one for two ranks. Collective, the same on all ranks."""
    operation = collective(name, duplicate, *buffers(name, size, comm.Get_rank(), comm.Get_size()))
    before = [_read(counter) for counter in COUNTERS]
    try:
        operation()
        counted = [(_read(name) - first).tolist() for name, first in zip(COUNTERS, before, strict=True)]
    except MPI.Exception:
        counted = None
    everywhere = comm.allgather(counted)
    return None if None in everywhere else everywhere


def _variable(name: str) -> ctypes.c_int:
    index = ctypes.c_int()
    call("MPI_T_cvar_get_index", name.encode(), ctypes.byref(index))
    return index


def algorithms(variable: str) -> dict[str, int]:
    """The algorithms that an order in a variable of Open MPI's can name, with their numbers; the first one is
    `ignore`. Raises WorkshopError."""
    kind, count, number = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    ints = [ctypes.byref(ctypes.c_int()) for _ in range(6)]
    text, datatype = ctypes.create_string_buffer(LONG), ctypes.c_void_p()
    call(
        "MPI_T_cvar_get_info", _variable(variable), text, ctypes.byref(ctypes.c_int(LONG)), ints[0],
        ctypes.byref(datatype), ctypes.byref(kind), None, ints[1], ints[2], ints[3],
    )  # fmt: skip
    call("MPI_T_enum_get_info", kind, ctypes.byref(count), text, ctypes.byref(ctypes.c_int(LONG)))
    names = {}
    for item in range(count.value):
        call("MPI_T_enum_get_item", kind, item, ctypes.byref(number), text, ctypes.byref(ctypes.c_int(LONG)))
        names[text.value.decode()] = number.value
    return names


@contextmanager
def ordered(variable: str, value: int) -> Iterator[None]:
    """Order an algorithm, by its number, for communicators that are made in the block."""
    handle, count = ctypes.c_void_p(), ctypes.c_int()
    call("MPI_T_cvar_handle_alloc", _variable(variable), None, ctypes.byref(handle), ctypes.byref(count))
    try:
        call("MPI_T_cvar_write", handle, ctypes.byref(ctypes.c_int(value)))
        yield
    finally:
        call("MPI_T_cvar_write", handle, ctypes.byref(ctypes.c_int(0)))
        call("MPI_T_cvar_handle_free", ctypes.byref(handle))


@cache
def _counter(name: str) -> tuple[ctypes.c_void_p, ctypes.c_void_p, int]:
    """The session, handle and length of a counter of MPI_COMM_WORLD, which alone has these counters."""
    session, handle, index, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int()
    world = ctypes.byref(ctypes.c_void_p(MPI._handleof(MPI.COMM_WORLD)))
    call("MPI_T_pvar_session_create", ctypes.byref(session))
    call("MPI_T_pvar_get_index", name.encode(), OF_SIZE, ctypes.byref(index))
    call("MPI_T_pvar_handle_alloc", session, index, world, ctypes.byref(handle), ctypes.byref(count))
    call("MPI_T_pvar_start", session, handle)
    return session, handle, count.value


def _read(name: str) -> NDArray[np.int64]:
    """A counter by receiver: what this rank has sent to each rank of MPI_COMM_WORLD."""
    session, handle, length = _counter(name)
    values = np.zeros(length, np.uint64)
    call("MPI_T_pvar_read", session, handle, ctypes.c_void_p(values.ctypes.data))
    return values.astype(np.int64)
