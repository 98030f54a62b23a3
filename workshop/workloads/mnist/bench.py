"""Data-parallel training through a session against the plain script, and what a placement is worth.

All contenders train the same network on the same images in the same batches for the same number of steps, and count
them alike: images of all ranks / seconds, the first two steps not counted.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from workshop import bench
from workshop.bench import own_state
from workshop.bench.crew import once
from workshop.core import config, processes, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import THREAD_VARIABLES, Placement, default_for
from workshop.mpi import horovod, openmpi
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.records import SessionRecord
from workshop.store.store import Store

BATCH = 64  # images of a rank in a step
RATE = 0.01  # low enough that nobody's loss becomes infinite
WARM = 2  # steps that aren't counted
STEPS = 900  # that are: 6 to 12 seconds of training on two cores
EPOCHS = 2  # of all ranks together
SECONDS = 180.0  # for one turn; it takes about twenty
REPORTER = "reporter"  # how a rank's thread that sends events is called

# In this order and back, so that neighbours are measured back to back.
CONTENDERS = ("naive", "unobserved", "apart", "session", "horovod", "script", "single")
NEED_HOROVOD = ("naive", "horovod", "script")
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
MOST = "the most that exchanges reach here"
# Each ratio divides the images/s of the first contender by those of the second. The last two are the most that any
# exchange could reach on this machine.
RATIOS = {
    "session_vs_script": ("session", "script"),
    "session_vs_unobserved": ("session", "unobserved"),
    "session_vs_apart": ("session", "apart"),
    "default_vs_horovod": ("unobserved", "horovod"),
    "default_vs_naive": ("session", "naive"),
    "default_vs_single": ("session", "single"),
    "most_vs_naive": ("apart", "naive"),
    "most_vs_single": ("apart", "single"),
}
Answer = dict[str, Any]


def run(
    repeats: int = 9,
    steps: int = STEPS,
    names: Sequence[str] = CONTENDERS,
    progress: bench.Progress = lambda done, total: None,
    warm_up: int = 1,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Contenders: `session`, the workload in a session on this machine's default placement; `unobserved`, the same under
    mpirun alone, its events told to nobody; `horovod`, that with the exchange horovod; `apart`, that without any
    exchange, each rank for itself: what the cores can do at once, which no exchange can exceed; `script`,
    labs/mnist/train.py on the same placement; `naive`, the script under `mpirun -np 1`, which binds it to one core,
    with as many threads as the machine has cores; `single`, the script in one process with all cores and without
    Horovod. Ratios are medians of
    one's images/s divided by another's of the same round. `beside` is the processor time of all other processes of
    this machine during each turn, those of its session included, in cores.
    """
    # Runs of our own session are unmeasured ones: a measured run waits for the lock that we hold.
    with own_state() as folder, Store.open() as store:
        version = horovod.built()
        where = bench.machine((*PACKAGES, *(["horovod"] if version else [])))
        placement = default_for(topology.allowed_cores(where))
        chosen = [name for name in names if version or name not in NEED_HOROVOD]
        work = BenchWork(folder, placement, steps)
        with private_session(store, placement) as session:
            ours = partial(session_turn, store, session, work)
            turns = {name: ours if name == "session" else work.turn(name) for name in chosen}
            results = bench.interleaved(turns, repeats, progress, mirrored=True, warm_up=warm_up)
    return _document(where, placement, results, [name for name in names if name not in chosen])


def _document(
    where: Mapping[str, Any], placement: Placement, results: Mapping[str, Sequence[Answer]], absent: Sequence[str]
) -> dict[str, Any]:
    speeds = {name: [answer["images_per_second"] for answer in answers] for name, answers in results.items()}
    rows = []
    for name, answers_of_contender in results.items():
        facts = {"ranks": answers_of_contender[-1]["ranks"], "threads": answers_of_contender[-1]["threads"]}
        facts |= {"exchange": answers_of_contender[-1]["exchange"]} if "exchange" in answers_of_contender[-1] else {}
        rows.append(bench.row(name, speeds[name], "images/s", **facts))
    note = "Horovod is not built here; `workshop horovod install` builds it."
    rows += [bench.missing(name, "images/s", note) for name in absent]
    if "session" in results:
        session_answers = results["session"]
        unit = "of the training time"
        rows.append(bench.row("telling_share", [answer["telling_share"] for answer in session_answers], unit))
        rows.append(bench.row("reporter_share", [answer["reporter_share"] for answer in session_answers], unit))
        both = [answer["telling_share"] + answer["reporter_share"] for answer in session_answers]
        rows.append(bench.row("events_share", both, unit))
    for name, answers in results.items():
        beside = [answer["beside"] for answer in answers]
        rows.append(bench.row(f"beside {name}", beside, "of one core, by processes that are not its ranks"))
    pairs = {name: pair for name, pair in RATIOS.items() if set(pair) <= results.keys()}
    compared = [
        bench.ratio(name, speeds[ours], speeds[other]) | ({"note": MOST} if ours == "apart" else {})
        for name, (ours, other) in pairs.items()
    ]
    ratios = {line["name"]: line["value"] for line in compared}
    intervals = {line["name"]: (line["low"], line["high"]) for line in compared}
    placed = {**where, "placement": placement.describe()}
    return bench.document("mnist", placed, [*rows, *compared], ratios, intervals)


@dataclass(frozen=True)
class BenchWork:
    """The task of all contenders: `steps` that count on the images in `folder`."""

    folder: Path
    placement: Placement
    steps: int

    @property
    def all_steps(self) -> int:
        return self.steps + WARM

    @property
    def data(self) -> Path:
        """MNIST's file with the digits in it, again and again: every epoch of all ranks is whole batches."""
        from workshop.workloads.mnist.data.images import digits_file

        return digits_file(self.folder, self.placement.ranks * BATCH * -(-self.all_steps // EPOCHS))

    @property
    def params(self) -> dict[str, Any]:
        """The workload's params: the script's optimizer, and no timeline, since the script keeps none."""
        as_the_script = {"optimizer": "momentum", "rate": RATE, "trace": 0}
        return {"data": str(self.data), "epochs": EPOCHS, "steps": self.all_steps, "batch": BATCH, **as_the_script}

    def turn(self, name: str) -> Callable[[], Answer]:
        """One turn of a contender that has no session."""
        cores = topology.allowed_cores(topology.machine())
        alone = {variable: value for variable, value in os.environ.items() if variable not in THREAD_VARIABLES}
        placed = alone | self.placement.rank_environment()
        ranks = [openmpi.launcher(), "-n", str(self.placement.ranks), *openmpi.arguments(self.placement, cores)]
        checkpoint = str(self.folder / "bench.weights.h5")
        script = [sys.executable, str(config.labs_folder() / "mnist" / "train.py"), "--json", "--data", str(self.data)]
        script += ["--epochs", str(self.all_steps), "--steps", str(self.all_steps), "--batch", str(BATCH)]
        script += ["--rate", str(RATE), "--checkpoint", checkpoint]
        words = [word for param, value in self.params.items() for word in (f"--{param}", str(value))]
        workload = [sys.executable, "-m", "workshop.engine", "mnist", *words]
        commands: dict[str, tuple[list[str], dict[str, str]]] = {
            "script": ([*ranks, *script], placed),
            "unobserved": ([*ranks, *workload], placed),
            "horovod": ([*ranks, *workload, "--exchange", "horovod"], placed),
            "apart": ([*ranks, *workload, "--exchange", "none"], placed),
            "naive": ([openmpi.launcher(), "-np", "1", *script], alone | {"OMP_NUM_THREADS": str(cores)}),
            "single": ([*script, "--plain"], alone),
        }
        command, environment = commands[name]

        def turn() -> Answer:
            with beside(_children) as usage:
                answer = once(name, command, environment | openmpi.environment(), SECONDS)
            return {**self.checked(answer.get("metrics", answer), together=name != "apart"), **usage}

        return turn

    def checked(self, answer: Mapping[str, Any], together: bool = True) -> Answer:
        """An answer, once it is sure that it counted the right steps, and that ranks which train together have the
        same weights. Raises WorkshopError."""
        counted = answer.get("measured_steps")
        if counted != self.steps:
            raise WorkshopError(f"A contender counted {counted} steps instead of {self.steps}.")
        if together and len(set(answer["weights"])) != 1:
            raise WorkshopError("The ranks of a contender did not end with the same weights.")
        shape = {"ranks": self.placement.ranks, "threads": self.placement.threads_per_rank}
        return {**shape, **answer}


def session_turn(store: Store, session: SessionRecord, work: BenchWork) -> Answer:
    """One turn of the contender with a session: a run, from its submission to its end. Raises WorkshopError."""
    before = _reporters(session)
    with beside(partial(_ranks, store, session)) as usage:
        submitted = client.submit(store, session, "mnist", work.params)
        run = client.wait(store, submitted.id, timeout=SECONDS)
    if run.status != "completed" or run.metrics is None:
        why = run.error["message"] if run.error else run.status
        raise WorkshopError(f"The session's run did not complete: {why}")
    answer = work.checked(run.metrics)
    # More than what happens while it trains: the thread's other work counts, too.
    busy = sum(now - before.get(thread, 0.0) for thread, now in _reporters(session).items())
    training = answer["seconds"]["train"] * work.placement.ranks
    return {**answer, **usage, "reporter_share": busy / training}


def _ranks(store: Store, session: SessionRecord) -> dict[int, float]:
    """Processor seconds of the session's ranks so far, by process."""
    seconds = {}
    for rank in (store.session(session.id).rank_map or {}).get("ranks", []):
        with suppress(psutil.NoSuchProcess):  # new ranks have taken its place
            times = psutil.Process(rank["pid"]).cpu_times()
            seconds[rank["pid"]] = times.user + times.system
    return seconds


def _reporters(session: SessionRecord) -> dict[int, float]:
    """Processor seconds of the threads that send events, by number."""
    seconds = {}
    for process in processes.tagged(processes.TAG, processes.session_tag(session.id)):
        for task in Path(f"/proc/{process.pid}/task").glob("*"):
            if (task / "comm").read_text().strip() == REPORTER:
                # In nanoseconds: a short run takes this thread less than one of the ticks in `stat`.
                seconds[int(task.name)] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return seconds


@contextmanager
def beside(ranks: Callable[[], Mapping[int, float]]) -> Iterator[dict[str, float]]:
    """Measure how many cores other processes of this machine use while the block runs: the key `beside`.

    `ranks` returns the processor seconds of the contender's ranks so far, by process."""
    usage: dict[str, float] = {}
    machine, before, began = _machine(), ranks(), time.monotonic()
    yield usage
    seconds = time.monotonic() - began
    rank_seconds = sum(now - before.get(process, 0.0) for process, now in ranks().items())
    usage["beside"] = max(_machine() - machine - rank_seconds, 0.0) / seconds


def _machine() -> float:
    """Processor seconds of all processes since the machine started."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system


def _children() -> dict[int, float]:
    """Processor seconds of this process's children that have ended, as those of one process."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {0: usage.ru_utime + usage.ru_stime}
