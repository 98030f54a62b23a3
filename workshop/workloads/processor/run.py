"""The workload: each rank measures in a fresh process, and rank 0 reads that process's log of oneDNN."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.parent_death import guarded
from workshop.core.patience import patient
from workshop.engine.context import RankContext
from workshop.engine.tensorflow import INTER, INTRA
from workshop.workloads.processor import ProcessorParams, kernels
from workshop.workloads.processor.program import BEGIN, END

PROCESS_SECONDS = 300.0  # seconds of an idle machine that the process may take
LOG = "onednn.txt"  # artifact: the log of the measured steps


def run(ctx: RankContext, params: ProcessorParams) -> Mapping[str, Any]:
    """Measure on every rank at the same time. Collective.

    Event: `images/s` of each step, by every rank. Artifact: onednn.txt, the log of rank 0's measured steps. Raises
    BadInput for more threads than the rank has processors, for a layout without kernels, for a process that fails or
    doesn't end, and where a stop is asked for before there is a result.
    """
    cpu_flags = kernels.flags()
    ctx.activity("importing TensorFlow in a fresh process, then measuring")
    try:
        _check(params, cpu_flags)
        output, error = _output(ctx, params), ""
    except BadInput as bad:
        output, error = "", str(bad)
    # All ranks fail alike: none waits for one that has nothing to tell.
    if error := next(filter(None, ctx.comm.allgather(error)), ""):
        raise BadInput(error)
    head, _, end = output.rpartition(f"{END} ")
    measured, log = json.loads(end.splitlines()[0]), head.rpartition(f"{BEGIN}\n")[2]
    for step, seconds in enumerate(measured["step_seconds"], 1):
        ctx.emit("images/s", params.batch / seconds, step)
    if ctx.rank == 0 and params.log:
        ctx.artifact(LOG, log.encode(), "text/plain")
    rates = ctx.comm.allgather(params.batch * params.steps / sum(measured["step_seconds"]))
    summary = kernels.summary(log.splitlines(), params.steps)
    step_seconds = median(measured["step_seconds"])
    kernel_seconds = sum(of_kind["seconds"] for of_kind in summary["kernels"].values()) * params.steps
    return {
        "images_per_second": sum(rates),
        "images_per_second_ranks": rates,
        "step_seconds": step_seconds,
        "pools": dict(zip(("intra", "inter"), measured["threads"], strict=True)),
        "seconds": {"start": measured["start"], "measure": sum(measured["step_seconds"])},
        "instructions": [name for flag, name in kernels.INSTRUCTIONS.items() if flag in cpu_flags],
        "native": kernels.native(params.precision, cpu_flags),
        "fast": params.precision == "float32" or bool(kernels.FAST[params.precision] & cpu_flags),
        **summary,
        "kernels_share": kernel_seconds / sum(measured["step_seconds"]) if params.log else None,
    }


def _check(params: ProcessorParams, cpu_flags: set[str]) -> None:
    """Refuse what this rank's processors can't do. Raises BadInput."""
    processors = len(os.sched_getaffinity(0))
    for name in ("intra", "inter"):
        if (getattr(params, name) or 0) > processors:
            raise BadInput(
                f"{name} is {getattr(params, name)}, but a rank may use {processors} processors here; "
                f"take at most {processors}, or a placement that gives a rank more."
            )
    if params.layout == "nchw" and not kernels.native(params.precision, cpu_flags):
        raise BadInput(
            f"layout is nchw with {params.precision}, for which oneDNN has no kernels on this processor, and "
            "TensorFlow's own know nhwc alone; take float32 or nhwc."
        )


def _output(ctx: RankContext, params: ProcessorParams) -> str:
    """The output of the fresh process, which ends with us, with the time limit, and when a stop is asked for. Raises
    BadInput."""
    variables = {
        INTRA: params.intra,
        INTER: params.inter,
        "TF_ENABLE_ONEDNN_OPTS": int(params.onednn),
        "ONEDNN_VERBOSE": "profile_exec" if params.log else "none",
        "TF_CPP_MIN_LOG_LEVEL": 2,
    }
    environment = os.environ | {name: str(value) for name, value in variables.items() if value is not None}
    command = [sys.executable, "-P", "-m", "workshop.workloads.processor.program", params.model_dump_json()]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen(
                guarded(command, expendable=True), stdin=subprocess.DEVNULL, stdout=to, stderr=errors, env=environment
            )
        try:
            while process.poll() is None:
                if ctx.stop_heard():
                    raise BadInput("The run was stopped before its steps were measured; give it more time.")
                if time.monotonic() - began > (limit := patient(PROCESS_SECONDS)):
                    raise BadInput(f"The steps took longer than {limit:.0f} s; take fewer of them or smaller images.")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            lines = err.read_text(errors="replace").strip().splitlines() or [f"code {process.returncode}"]
            raise BadInput(f"The measuring process failed: {lines[-1][:300]}")
        return out.read_text(errors="replace")
