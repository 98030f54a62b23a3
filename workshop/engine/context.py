"""A workload's access to its rank and run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

from workshop.engine.threads import Census, CoreTime

LARGEST_ARTIFACT = 64 << 20  # bytes


class Sink(Protocol):
    """The destination of a rank's events and artifacts: the conductor, or nothing."""

    phase: tuple[str, float] | None  # in which the rank is, and its begin by `time.perf_counter`

    def emit(self, name: str, value: float, step: int | None, time: float) -> None: ...
    def progress(self, done: float, total: float) -> None: ...
    def activity(self, words: str) -> None: ...
    def publish(self, metrics: Mapping[str, Any]) -> None: ...
    def members(self, ranks: Sequence[int]) -> None: ...
    def artifact(self, name: str, data: bytes, media_type: str, former: Sequence[str] = ()) -> None: ...
    def stop_requested(self) -> bool: ...


class Memory:
    """A sink that keeps everything, for plain mpirun, single processes and tests."""

    def __init__(self) -> None:
        self.events: list[tuple[float, str, int | None, float]] = []  # time, name, step, value
        self.artifacts: dict[str, tuple[str, bytes]] = {}  # name -> media type, data
        self.metrics: dict[str, Any] = {}  # that were known before the end
        self.ranks: list[int] | None = None  # that went on after a loss
        self.done: tuple[float, float] | None = None
        self.activities: list[str] = []
        self.stop = False
        self.phase: tuple[str, float] | None = None

    def emit(self, name: str, value: float, step: int | None, time: float) -> None:
        self.events.append((time, name, step, value))

    def progress(self, done: float, total: float) -> None:
        self.done = (done, total)

    def activity(self, words: str) -> None:
        self.activities.append(words)

    def publish(self, metrics: Mapping[str, Any]) -> None:
        self.metrics |= metrics

    def members(self, ranks: Sequence[int]) -> None:
        self.ranks = list(ranks)

    def artifact(self, name: str, data: bytes, media_type: str, former: Sequence[str] = ()) -> None:
        for newer, older in reversed(list(pairwise((name, *former)))):
            if newer in self.artifacts:
                self.artifacts[older] = self.artifacts[newer]
        self.artifacts[name] = (media_type, data)

    def stop_requested(self) -> bool:
        return self.stop


class RankContext:
    """One rank's view of its run. With a world of one it works without mpirun.

    `comm` is a communicator of the run's own; `inputs` the files that came with the run.
    """

    def __init__(self, comm: Any, sink: Sink | None = None, inputs: Mapping[str, bytes] | None = None) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self.inputs: Mapping[str, bytes] = inputs or {}
        self.threads = Census()  # begun by whoever trains
        self.core = CoreTime()  # from the end of the first step to that of the last
        self.begin_activity: Callable[[str], None] = lambda words: None  # called on every rank
        self.phase_seconds: dict[str, float] = {}  # since the run began
        self._step_seconds: dict[str, float] = {}  # since the last end_step
        self._sink: Sink = sink if sink is not None else Memory()

    @property
    def run(self) -> int | None:
        """The number of the run in its session; None without a session."""
        return getattr(self._sink, "run", None)

    def adopt(self, comm: Any, members: Sequence[int]) -> None:
        """Go on over another communicator, after ranks were lost or have joined. `rank` is the one in it, and its rank
        0 tells progress, activity and metrics from now on; a rank's events keep its number of the start, and `members`
        are these numbers. The session then waits for no other rank."""
        self.comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        if self.rank == 0:
            self._sink.members(members)

    def emit(self, name: str, value: float, step: int | None = None, at: float | None = None) -> None:
        """Tell one value, which viewers see within a second. `at` is its time in seconds since the epoch (default:
        now)."""
        self._sink.emit(name, float(value), None if step is None else int(step), time.time() if at is None else at)

    def account(self, phase: str, seconds: float, step: int, at: float) -> None:
        """Tell what a step has spent in a phase, where that was measured otherwise than by `phase` and `end_step`."""
        self.core.look()
        self.phase_seconds[phase] = self.phase_seconds.get(phase, 0.0) + seconds
        self._sink.emit(f"time.{phase}", float(seconds), int(step), at)

    @contextmanager
    def phase(self, name: str, account: bool = True) -> Iterator[None]:
        """The enclosed time is a phase: "compute", "communicate", "wait", "input" or a name of the workload's own.
        Viewers see that the rank is in it; outside of phases a rank computes. With `account`, its time counts."""
        start = time.perf_counter()
        around, self._sink.phase = self._sink.phase, (name, start)
        try:
            yield
        finally:
            end = time.perf_counter()
            self._sink.phase = (around[0] if around else "compute", end)
            if account:
                self.phase_seconds[name] = self.phase_seconds.get(name, 0.0) + end - start
                self._step_seconds[name] = self._step_seconds.get(name, 0.0) + end - start

    def end_step(self, step: int) -> None:
        """Tell the seconds of every phase since the last step, as events `time.<phase>`."""
        self.core.look()
        now = time.time()
        for name, seconds in self._step_seconds.items():
            self._sink.emit(f"time.{name}", seconds, step, now)
        self._step_seconds.clear()

    def synchronise(self, account: bool = True) -> None:
        """Wait for all ranks. The time counts as "wait", because a slower rank has caused it."""
        with self.phase("wait", account):
            self.comm.Barrier()

    @contextmanager
    def timed(self, name: str, seconds: dict[str, float]) -> Iterator[None]:
        """The enclosed time is a phase, whose seconds become `seconds[name]`. They count from the moment in which all
        ranks have begun to the end on this rank. Collective."""
        self.synchronise(account=False)
        began = time.perf_counter()
        with self.phase(name):
            yield
        seconds[name] = time.perf_counter() - began

    def rank_0_first(self, prepare: Callable[[], object]) -> None:
        """Call a function on rank 0, then on the others, which find in a cache what rank 0 has compiled. Collective."""
        for turn in (self.rank == 0, self.rank != 0):
            if turn:
                prepare()
            self.synchronise(account=False)

    def progress(self, done: float, total: float) -> None:
        """Tell how far the run is; rank 0's word counts."""
        if self.rank == 0:
            self._sink.progress(float(done), float(total))

    def activity(self, words: str) -> None:
        """Tell what the run is doing, for instance "reading data"; rank 0's word counts. Viewers see it until the next
        call, so say it before whatever may take seconds."""
        self.begin_activity(words)
        if self.rank == 0:
            self._sink.activity(words)

    def publish(self, **metrics: Any) -> None:
        """Tell metrics that are known before the end, as JSON has them; rank 0's word counts. A run that fails keeps
        them."""
        if self.rank == 0:
            self._sink.publish(metrics)

    def artifact(
        self, name: str, data: bytes, media_type: str = "application/octet-stream", former: Sequence[str] = ()
    ) -> None:
        """Keep a file with the run, at most 64 MB. A second one of the same name replaces the first. With `former`, the
        replaced file gets the first of these names, the file of that name the second, and so on. A file may be left out
        if the next one of its name comes within a second; the last one never is. Any thread may call it."""
        self._sink.artifact(name, bytes(data), media_type, former)

    def stop_heard(self) -> bool:
        """Whether this rank has received the wish to end early. Other ranks may hear it later, so all ranks have to
        agree before any of them ends."""
        return self._sink.stop_requested()

    def stop_requested(self) -> bool:
        """Whether to end early. Collective: all ranks get the same answer, so all leave the same iteration."""
        from mpi4py import MPI

        return bool(self.comm.allreduce(int(self._sink.stop_requested()), op=MPI.MAX))


def library() -> str:
    """The MPI library of this process in a few words: Open MPI v5.0.11, MPICH 5.0.2, Intel(R) MPI Library 2021.18.1."""
    from mpi4py import MPI

    first = MPI.Get_library_version().strip("\0\n ").splitlines()[0].partition(",")[0]
    return " ".join(first.replace("Version:", " ").split()).partition(" for ")[0]
