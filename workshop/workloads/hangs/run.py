"""The workload: rank 0 runs a program of the catalogue below `workshop watch`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from workshop.engine.context import RankContext
from workshop.extension import OUTPUT
from workshop.workloads.hangs import HangParams
from workshop.workloads.hangs.examples import example
from workshop.workloads.hangs.outcome import watch
from workshop.workloads.hangs.states import PROGRAM, marked, rows


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
    outcome = watch(hang, params.after, ctx.stop_heard)
    seconds = {"run": time.monotonic() - began}
    if not outcome.diagnoses:
        return {"kind": "", "ranks": [], "seconds": seconds}
    last = outcome.diagnoses[-1]
    folder = f"{hang.path.parent}/"  # of this machine, which nobody needs to see
    lines = [line.replace(folder, "") for line in last["lines"]]
    ctx.artifact(OUTPUT, "\n".join([marked(program, rows(lines)), "", *lines, ""]).encode(), "text/plain")
    return {
        **{name: last[name] for name in ("kind", "ranks", "hang", "fix")},
        "sentence": last["sentence"].replace(folder, ""),
        "lines": lines,
        "seconds": seconds | {"still": last["seconds"]},
    }
