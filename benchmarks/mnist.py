"""Data-parallel training in a session against the plain script, and what a placement is worth.

All train the same network on the same images in the same batches: `session`, the workload in a session on this
machine's default placement; `unobserved`, the same by mpirun alone, its events told to nobody; `script`,
labs/mnist/train.py on the same placement; `naive`, the script under `mpirun -np 1`, which binds it to one core, with a
thread for each core; `single`, the script in one process with all cores, without Horovod. Ratios are images/s by
images/s of the same round.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import Document, document, interleaved, machine, missing, ratio, row
from benchmarks.processes import completed, once, own_state
from workshop.core import config, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import THREAD_VARIABLES, Placement, default_for
from workshop.mpi import horovod, openmpi
from workshop.sessions.lifecycle import private_session
from workshop.store.store import Store
from workshop.workloads.mnist.data.images import digits_file

BATCH = 64  # images of a rank in a step
RATE = 0.01  # low enough that nobody's loss becomes infinite
WARM = 2  # steps that don't count
EPOCHS = 2  # of all ranks together
CONTENDERS = ("naive", "unobserved", "session", "script", "single")
NEED_HOROVOD = ("naive", "script")
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
RATIOS = {
    "session_vs_script": ("session", "script"),
    "session_vs_unobserved": ("session", "unobserved"),
    "default_vs_naive": ("session", "naive"),
    "default_vs_single": ("session", "single"),
}
Answer = dict[str, Any]


def run(repeats: int = 9, steps: int = 250) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    # Runs of our own session are unmeasured ones: a measured run waits for the lock that we hold.
    with own_state() as folder, Store.open() as store:
        built = horovod.built()
        where = machine((*PACKAGES, *(["horovod"] if built else [])))
        placement = default_for(topology.allowed_cores(where))
        data = digits_file(folder, placement.ranks * BATCH * -(-(steps + WARM) // EPOCHS))  # whole batches in an epoch
        programs = commands(placement, data, steps)
        with private_session(store, placement) as session:

            def in_session() -> Answer:
                return checked(completed(store, session, "mnist", params(data, steps)).metrics or {}, steps)

            turns: dict[str, Callable[[], Answer]] = {
                name: in_session if name == "session" else partial(_program, name, *programs[name], steps)
                for name in CONTENDERS
                if built or name not in NEED_HOROVOD
            }
            results = interleaved(turns, repeats)
    speeds = {name: [answer["images_per_second"] for answer in answers] for name, answers in results.items()}
    rows = [row(name, values, "images/s") for name, values in speeds.items()]
    note = "Horovod is not built here; `workshop horovod install` builds it."
    rows += [missing(name, "images/s", note) for name in CONTENDERS if name not in results]
    telling = [answer["telling_share"] for answer in results["session"]]
    rows.append(row("telling_share", telling, "of the training time"))
    pairs = {name: pair for name, pair in RATIOS.items() if set(pair) <= speeds.keys()}
    rows += [ratio(name, speeds[ours], speeds[other]) for name, (ours, other) in pairs.items()]
    return document({**where, "placement": placement.describe()}, rows)


def params(data: Path, steps: int) -> dict[str, Any]:
    """The workload's params: the script's optimizer, and no timeline, since the script keeps none."""
    as_the_script = {"optimizer": "momentum", "rate": RATE, "trace": 0}
    return {"data": str(data), "epochs": EPOCHS, "steps": steps + WARM, "batch": BATCH, **as_the_script}


def commands(placement: Placement, data: Path, steps: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Command line and environment of each contender that has no session."""
    cores = topology.allowed_cores(topology.machine())
    alone = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    alone |= openmpi.environment()
    placed = alone | placement.rank_environment()
    ranks = [openmpi.launcher(), "-n", str(placement.ranks), *openmpi.arguments(placement, cores)]
    script = [sys.executable, str(config.labs_folder() / "mnist" / "train.py"), "--json", "--data", str(data)]
    script += ["--epochs", str(steps + WARM), "--steps", str(steps + WARM), "--batch", str(BATCH)]
    script += ["--rate", str(RATE), "--checkpoint", str(data.parent / "bench.weights.h5")]
    words = [word for name, value in params(data, steps).items() for word in (f"--{name}", str(value))]
    return {
        "script": ([*ranks, *script], placed),
        "unobserved": ([*ranks, sys.executable, "-m", "workshop.engine", "mnist", *words], placed),
        "naive": ([openmpi.launcher(), "-np", "1", *script], alone | {"OMP_NUM_THREADS": str(cores)}),
        "single": ([*script, "--plain"], alone),
    }


def _program(name: str, command: list[str], environment: Mapping[str, str], steps: int) -> Answer:
    answer = once(name, command, environment)
    return checked(answer.get("metrics", answer), steps)


def checked(answer: Mapping[str, Any], steps: int) -> Answer:
    """An answer, once it is sure that it counted the right steps, and that its ranks have the same weights. Raises
    WorkshopError."""
    if (counted := answer.get("measured_steps")) != steps:
        raise WorkshopError(f"A contender counted {counted} steps instead of {steps}.")
    if len(set(answer["weights"])) != 1:
        raise WorkshopError("The ranks of a contender did not end with the same weights.")
    return dict(answer)
