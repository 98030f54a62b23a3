"""The workload: rank 0 runs a program of the catalogue below a real `workshop watch`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.placement import Placement
from workshop.engine.context import RankContext
from workshop.extension import OUTPUT
from workshop.mpi import openmpi
from workshop.workloads.hangs import HangParams
from workshop.workloads.hangs.examples import WatchExample, example
from workshop.workloads.hangs.recorder import RANK_VARIABLES
from workshop.workloads.hangs.states import PROGRAM, marked, rows

AFTER = 2.0  # seconds without a move before it looks
PATIENCE = 15.0  # seconds after `after` within which the doctor has ended a program that hangs
PROGRAM_SECONDS = 60.0  # that a good program has to end, and that an interrupted program has
STOPPED = 3.0  # seconds that the program has to end after a stop; less than `sessions.run_monitor.CANCEL`
EVERY = 0.1  # seconds between looks whether a stop is asked for
# Of a rank's job, under any MPI. Settings of transports stay: they hold for all jobs of the machine.
_JOB = re.compile(
    r"OMPI_(?!ALLOW_|MCA_btl)|OPAL_|PMIX_|PMI_|PRTE_|HYDRA_|I_MPI_|MPICH_|MPIR_|PALS_|MPI_LOCAL|MPI4PY_LIBMPI$"
)


def run(ctx: RankContext, params: HangParams) -> Mapping[str, Any]:
    """Run the program on ranks of its own until its hang is named; other ranks than rank 0 have nothing to do.

    Artifacts: program.py, and output.txt with the ranks beside its lines. Metrics: those of the last diagnosis, with an
    empty `kind` where there is none, and `seconds`. Raises WorkshopError for a program that can't be watched.
    """
    if ctx.rank != 0:
        return {}
    hang, began = example(params.example), time.monotonic()
    program = hang.question  # a learner who looks while it runs has the answer to find
    ctx.artifact(PROGRAM, program.encode(), "text/x-python")
    ctx.activity(f"waiting until nothing has moved for {params.after:g} s")
    diagnoses = watch(hang, params.after, ctx.stop_heard)
    seconds = {"run": time.monotonic() - began}
    if not diagnoses:
        return {"kind": "", "ranks": [], "seconds": seconds}
    last = diagnoses[-1]
    folder = f"{hang.path.parent}/"  # of this machine, which nobody needs to see
    lines = [line.replace(folder, "") for line in last["lines"]]
    ctx.artifact(OUTPUT, "\n".join([marked(program, rows(lines)), "", *lines, ""]).encode(), "text/plain")
    return {
        **{name: last[name] for name in ("kind", "ranks", "hang", "fix")},
        "sentence": last["sentence"].replace(folder, ""),
        "lines": lines,
        "seconds": seconds | {"still": last["seconds"]},
    }


def environment(folder: str) -> dict[str, str]:
    """The variables with which the programs run: a thread in each rank, and their temporary files in this folder. Where
    a rank of another job asks, without that job's variables, which would make the programs' ranks members of it."""
    in_rank = not os.environ.keys().isdisjoint(RANK_VARIABLES)
    variables = {name: value for name, value in os.environ.items() if not (in_rank and _JOB.match(name))}
    return {**variables, **openmpi.environment(), **Placement().rank_environment(), "TMPDIR": folder}


def watch(
    example: WatchExample, after: float = AFTER, stopped: Callable[[], bool] = lambda: False
) -> list[dict[str, Any]]:
    """Run an example below `workshop watch`; returns the diagnoses in the order in which they came. All its processes
    end with this one, also after kill -9. A program that the watch doesn't end in time is interrupted, as by Ctrl-C,
    and one for which `stopped` asks that has no diagnosis. Raises WorkshopError where it gives no answer."""
    command = [f"{sys.prefix}/bin/workshop", "watch", "--after", str(after), "--end", "--json", "--"]
    with (
        tempfile.TemporaryDirectory(prefix="hang-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile("w+") as output,
    ):
        process = subprocess.Popen(
            guarded([*command, *example.command], expendable=True), cwd=folder, env=environment(folder),
            start_new_session=True, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until = time.monotonic() + (after + PATIENCE if example.kind else PROGRAM_SECONDS)
            while process.poll() is None and time.monotonic() < until and not stopped():
                time.sleep(EVERY)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(STOPPED if stopped() else PROGRAM_SECONDS)
                if stopped():
                    return []
        finally:
            process.kill()  # what it has started ends with it
            process.communicate()
        output.seek(0)
        text = output.read()
        start = f"\n{text}".rfind("\n{\n")  # behind the program's own output
        if start < 0:
            raise WorkshopError(f"{example.name} gave no answer below workshop watch (exit code {process.returncode}).")
        document = json.loads(text[start:])
        if document["exit_code"] and not document["ended"] and not example.kind:
            raise WorkshopError(f"{example.name} has failed with exit code {document['exit_code']}; run it by itself.")
        return list(document["diagnoses"])
