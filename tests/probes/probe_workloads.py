"""Workloads that tests register the way any package does: through entry points (see tests/conftest.py)."""

from __future__ import annotations

import os
import signal
import time

from pydantic import Field

from workshop.workloads import Params, Workload


class TellParams(Params):
    events: int = Field(10, ge=0)
    every: float = Field(0.0, ge=0)  # seconds between events
    obedient: bool = True  # whether it heeds stop requests


def tell(ctx, params):
    """Every rank tells its events; rank 0 keeps a file and returns figures."""
    told = 0
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
    how: str = "raise"  # raise | kill | leave
    after: float = 0.2  # seconds


def break_(ctx, params):
    """One rank goes astray while the others wait for it in a collective."""
    ctx.emit("before", 1.0)
    if ctx.rank == params.rank:
        time.sleep(params.after)
        if params.how == "raise":
            raise ArithmeticError("this rank can't go on")
        if params.how == "leave":
            raise SystemExit(3)
        os.kill(os.getpid(), signal.SIGKILL)
    ctx.comm.Barrier()
    return {}


TELL = Workload(
    "tell", "Tell", "Tells events.", TellParams, "probe_workloads:tell", lambda params, artifacts: {"file": b"content"}
)
BREAK = Workload("break", "Break", "Breaks.", BreakParams, "probe_workloads:break_")
