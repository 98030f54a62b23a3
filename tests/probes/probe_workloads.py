"""Workloads that tests register the way any package does: through entry points (see tests/conftest.py)."""

from __future__ import annotations

import os
import signal
import time

from pydantic import Field

from workshop.extension import Extension, Params, Scaling, Study, Workload


class TellParams(Params):
    events: int = Field(10, ge=0)
    every: float = Field(0.0, ge=0)  # seconds between events
    after: float = Field(0.0, ge=0)  # seconds before the first one
    obedient: bool = True  # whether it heeds stop requests


def tell(ctx, params):
    """Every rank tells its events; rank 0 keeps a file and returns figures."""
    told = 0
    time.sleep(params.after)
    for step in range(params.events):
        with ctx.phase("compute"):
            ctx.emit("value", step * 10 + ctx.rank, step)
            time.sleep(params.every)
        ctx.end_step(step)
        ctx.progress(step + 1, params.events)
        told += 1
        if params.every and params.obedient and ctx.stop_requested():
            break
    if ctx.rank == 0:
        ctx.artifact("note.txt", b"told", "text/plain")
    with ctx.phase("communicate"):
        total = ctx.comm.allreduce(told)
    return {"told": total, "threads": os.environ.get("OMP_NUM_THREADS"), "inputs": sorted(ctx.inputs)}


class BreakParams(Params):
    rank: int = 1
    how: str = "raise"  # raise | kill | crash | leave | hang
    after: float = 0.2  # seconds
    restarts: int = 0  # times that the run begins again


def break_(ctx, params):
    """One rank goes astray while the others wait for it in a collective."""
    ctx.emit("before", 1.0)
    if ctx.rank == params.rank:
        time.sleep(params.after)
        if params.how == "raise":
            raise ArithmeticError("this rank can't go on")
        if params.how == "leave":
            raise SystemExit(3)
        if params.how == "hang":
            ctx.comm.recv(source=0, tag=9)
        os.kill(os.getpid(), signal.SIGSEGV if params.how == "crash" else signal.SIGKILL)
    ctx.synchronise()
    return {}


TELL = Workload(
    "tell", "Tell", "Tells events.", TellParams, "probe_workloads:tell", lambda params, artifacts: {"file": b"content"}
)
BREAK = Workload(
    "break", "Break", "Breaks.", BreakParams, "probe_workloads:break_", restarts=lambda params: params.restarts
)


class ExchangeParams(Params):
    times: int = Field(8, ge=1)
    numbers: int = Field(1 << 17, ge=1)  # of 8 bytes, in each all-reduce


def exchange(ctx, params):
    """All ranks sum up an array, several times."""
    import numpy as np
    from mpi4py import MPI

    array = np.ones(params.numbers)
    for _ in range(params.times):
        ctx.comm.Allreduce(MPI.IN_PLACE, array)
    return {"sum": float(array[0]), "library": MPI.Get_library_version().split(",")[0]}


EXCHANGE = Workload("exchange", "Exchange", "Sums up an array.", ExchangeParams, "probe_workloads:exchange")


class WorkParams(Params):
    batch: int = Field(8, ge=1)  # images of each rank in a step
    epochs: int = Field(1, ge=1, le=100)
    seconds: float = Field(0.0, ge=0)  # that a step really takes, to be able to interrupt it
    fails: int = Field(0, ge=0)  # with so many ranks rank 0 raises an error
    silent: bool = False  # tells no throughput


def work(ctx, params):
    """Works as fast as it says, not as it can: a rank does 1000 images/s alone, and a tenth less with others."""
    for step in range(4 * params.epochs):
        if params.fails == ctx.size and ctx.rank == 0:
            raise ArithmeticError("too many of us")
        ctx.emit("working", step, step)
        if ctx.rank == 0:
            ctx.emit("total images/s", 1000.0 * ctx.size, step)
        ctx.progress(step, 4 * params.epochs)
        for _ in range(round(params.seconds / 0.1)):  # as often on all ranks: asking whether to stop is collective
            time.sleep(0.1)
            if ctx.stop_requested():
                return {}
    if params.silent:
        return {}
    lost = 0.1 if ctx.size > 1 else 0.0
    phases = {"compute": 1.0 - lost, "communicate": lost, "wait": 0.0, "input": 0.0}
    return {
        "images_per_second": 1000.0 * ctx.size * (1 - lost),
        "measured_steps": 4,
        "phases": {name: [seconds] * ctx.size for name, seconds in phases.items()},
        "batch": params.batch,
        "epochs": params.epochs,
    }


WORK = Workload(
    "work",
    "Work",
    "Tells how fast it works.",
    WorkParams,
    "probe_workloads:work",
    scaling=Scaling("images_per_second", "images/s", share="batch", total="epochs", live="total images/s"),
)


class FillParams(Params):
    rank: int = -1  # the one that takes more than the others; -1: all alike
    batch: int = Field(8, ge=1)  # MiB that a rank takes in a step
    epochs: int = Field(1, ge=1)  # steps
    every: float = Field(0.02, ge=0)  # seconds between steps
    how: str = "bit by bit"  # or more than any machine has, by way of "numpy", "tensorflow" or "c++"


def fill(ctx, params):
    """Takes memory, and tells how much as its throughput."""
    import numpy as np

    if params.how == "numpy" and ctx.rank == 1:
        np.zeros((1 << 24, 1 << 24))
    if params.how == "c++" and ctx.rank == 1:
        import ctypes

        ctypes.CDLL("libstdc++.so.6")._Znwm(ctypes.c_size_t(1 << 60))  # operator new
    if params.how == "tensorflow" and ctx.rank == 1:
        import tensorflow as tf

        tf.function(lambda x: tf.zeros((x, 1 << 22)) + 1.0)(tf.constant(1 << 22))
    taken = []
    for step in range(params.epochs):
        taken.append(np.ones((params.batch if params.rank in (-1, ctx.rank) else 1) << 20, dtype=np.uint8))
        ctx.emit("value", sum(map(len, taken)), step)
        time.sleep(params.every)
    ctx.comm.Barrier()
    return {"images_per_second": 100.0 * ctx.size, "measured_steps": 4}


FILL = Workload(
    "fill",
    "Fill",
    "Takes memory.",
    FillParams,
    "probe_workloads:fill",
    scaling=Scaling("images_per_second", "images/s", share="batch", total="epochs", live="total images/s"),
)

PROBING = Study("probing", "tests.study.probing:KIND")  # only tests load it

EXTENSION = Extension(workloads=(TELL, BREAK, WORK, EXCHANGE, FILL), studies=(PROBING,))
