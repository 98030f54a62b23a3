"""The plan of chaos from a seed, the `workshop up` to which it happens, and its remains: processes, segments of shared
memory, folders of launchers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from workshop.core import processes
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.patience import patient
from workshop.core.ports import free_port
from workshop.runtime import client
from workshop.runtime.fork import stub
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

TARGETS = ("rank", "stub", "server", "launcher", "controller", "conductor", "dashboard")
ACTIONS = ("kill", "stop", "terminate")
IDLE = 0.2  # share of events that happen just before a run
LATEST = {"kmeans": 5.0, "mnist": 14.0}  # seconds after the submission: a bit longer than a run takes
SHORTEST, LONGEST = 0.5, 20.0  # seconds for which a process is stopped
# How runs end that lost a process, by what they say of it.
LOST = (
    "RankDied",
    "EnginesDied",
    "RanksNotStarted",
    "RankServerDied",
    "ControllerDied",
    "RankSilent",
    "ConductorSilent",
    "EngineError",
)


@dataclass(frozen=True)
class ChaosEvent:
    """One event: a target, an action and a time."""

    number: int
    target: str
    action: str
    workload: str
    after: float  # seconds from a run's submission; below 0: just before it
    seconds: float  # for which a process is stopped
    busy: bool  # whether all cores are taken meanwhile
    choice: float  # which of several processes: a share of them

    @property
    def words(self) -> str:
        how = f"stop of {self.seconds:.0f} s" if self.action == "stop" else self.action
        when = f"{self.after:.1f} s into {self.workload}" if self.after >= 0 else f"just before {self.workload}"
        return f"{how} of a {self.target}, {when}{', cores taken' if self.busy else ''}"


def plan(count: int, seed: int, workloads: Sequence[str]) -> list[ChaosEvent]:
    """So many events; the same ones for the same seed. Every target meets every action about equally often."""
    stream = random.Random(seed)
    pairs = [(target, action) for target in TARGETS for action in ACTIONS]
    events: list[ChaosEvent] = []
    while len(events) < count:
        stream.shuffle(pairs)
        for target, action in pairs[: count - len(events)]:
            workload = stream.choice(list(workloads))
            after = stream.uniform(0, LATEST[workload]) if stream.random() > IDLE else -1.0
            events.append(
                ChaosEvent(
                    number=len(events) + 1,
                    target=target,
                    action=action,
                    workload=workload,
                    after=after,
                    seconds=stream.uniform(SHORTEST, LONGEST),
                    busy=stream.random() < 0.5,
                    choice=stream.random(),
                )
            )
    return events


def true_status(event: ChaosEvent, hit: bool, status: str, error: Mapping[str, Any] | None) -> bool:
    """Whether a run can have ended like that: `hit` says whether the event met it while it had not ended."""
    if status == "completed":
        return error is None
    error_or_empty = error or {}
    if not hit or event.target == "dashboard" or not error_or_empty.get("message"):
        return False
    if status == "interrupted":
        return event.target == "conductor"
    return status == "failed" and error_or_empty.get("type") in LOST


SINGLE = {"workshop.runtime.conductor": "conductor", "workshop.server": "dashboard"}  # of each there is one at a time
DELETED = " (deleted)"


@dataclass
class SessionTraces:
    """Traces of a session, noted while its processes lived, by which its leftovers are found."""

    segments: set[str] = field(default_factory=set)
    launchers: set[int] = field(default_factory=set)

    def forget(self, paths: Iterable[str]) -> None:
        """Don't look for these files any longer."""
        folders = {str(_folder(pid)): pid for pid in self.launchers}
        for path in paths:
            self.segments.discard(path)
            self.launchers.discard(folders.get(path, 0))

    def look(self, processes_now: Iterable[psutil.Process]) -> None:
        """Note what these processes have."""
        for process in processes_now:
            with suppress(psutil.Error, OSError):
                if process.name() in ("prterun", "mpirun"):
                    self.launchers.add(process.pid)
                maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
                self.segments |= {
                    path.removesuffix(DELETED) for path in (line[73:] for line in maps) if path.startswith("/dev/shm/")
                }


def of_home(home: Path) -> list[psutil.Process]:
    """All processes that work with a state folder, this one left out."""
    return [process for process in processes.tagged("WORKSHOP_HOME", str(home)) if process.pid != os.getpid()]


def processes_left(processes_now: Iterable[psutil.Process]) -> list[str]:
    """Processes beyond those of one session under `workshop up`: older sets of ranks, second conductors."""
    tags: dict[str, list[str]] = {}
    ones: Counter[str] = Counter()
    for process in processes_now:
        with suppress(psutil.Error, OSError):
            words = processes.command(process)
            if tag := process.environ().get(processes.ENGINES_TAG):
                tags.setdefault(tag, []).append(f"{process.name()} ({process.pid})")
            elif kind := next((SINGLE[word] for word in words if word in SINGLE), None):
                ones[kind] += 1
    newest = max(tags, key=_order, default=None)
    older = [f"{who} of earlier ranks" for tag, names in tags.items() if tag != newest for who in names]
    return [*older, *(f"{count} processes as {kind}" for kind, count in ones.items() if count > 1)]


def _order(tag: str) -> tuple[int, ...]:
    """The number of a set of ranks (`…-PID-SET`). Sets of a conductor that is gone come first."""
    pid, number = tag.rsplit("-", 2)[1:]
    return psutil.pid_exists(int(pid)), int(number)


def files_left(noted: SessionTraces, current: SessionTraces) -> list[str]:
    """Segments and folders of the noted session that still exist and don't belong to a living process."""
    folders = [_folder(pid) for pid in noted.launchers - current.launchers]
    segments = [Path(path) for path in noted.segments - current.segments]
    return [str(path) for path in (*segments, *folders) if path.exists()]


def _folder(launcher: int) -> Path:
    """The folder with the contact files of the mpirun with that number."""
    return Path(tempfile.gettempdir()) / f"ompi.{launcher}"


UP = "import sys; from workshop.cli import main; sys.argv[0] = 'workshop'; main()"
SPIN = "while True: pass"
SESSION = "chaos"
RANK, SERVER = "workshop.engine.host", "workshop.runtime.fork.server"
READY, ENDED = 120.0, 40.0  # seconds of an idle machine
SETTLED = 5.0  # seconds within which what a session no longer needs is gone
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "terminate": signal.SIGTERM}


class Stage:
    """A session and a dashboard under `workshop up`, with their traces."""

    def __init__(self, home: Path, store: Store, process: subprocess.Popen[bytes]) -> None:
        self.store = store
        self._home = home
        self._process = process
        self._seen = SessionTraces()

    @property
    def session(self) -> SessionRecord:
        return self.store.session(SESSION)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def submit(self, workload: str, params: Mapping[str, Any]) -> RunRecord:
        return client.submit(self.store, self.session, workload, params)

    def wait(self, run: RunRecord, seconds: float) -> RunRecord:
        """Wait for the run's end, for a limited time. Returns the run as it is then."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(WorkshopError):  # its session is down at this moment, and comes up again
                return client.wait(self.store, run.id, timeout=max(deadline - time.monotonic(), 0))
            if time.monotonic() > deadline:
                return self.store.run(run.id)
            time.sleep(0.5)

    @contextmanager
    def load(self, busy: bool) -> Iterator[None]:
        """All cores taken by others as long as the block lasts, where it is to be `busy`."""
        with ExitStack() as stack:
            for _ in range((os.cpu_count() or 1) * busy):
                spinning = subprocess.Popen(guarded([sys.executable, "-c", SPIN]))
                stack.callback(spinning.wait)
                stack.callback(spinning.kill)
            yield

    def looked(self) -> SessionTraces:
        """The files and segments of the session's processes now, which are noted."""
        current = SessionTraces()
        current.look(of_home(self._home))
        self._seen.segments |= current.segments
        self._seen.launchers |= current.launchers
        return current

    def strike(self, event: ChaosEvent) -> bool:
        """Do to a process what the event says; one that is stopped goes on after its time. False where there is no
        such process at this moment."""
        targets = sorted(self._targets(event.target), key=lambda process: process.pid)
        self.looked()
        if not targets:
            return False
        chosen = targets[min(int(event.choice * len(targets)), len(targets) - 1)]
        with suppress(psutil.NoSuchProcess):
            chosen.send_signal(SIGNALS[event.action])
            if event.action == "stop":
                threading.Timer(event.seconds, _resume, [chosen]).start()
            return True
        return False

    def _targets(self, target: str) -> list[psutil.Process]:
        processes_here = of_home(self._home)
        if target == "rank":
            return [process for process in processes_here if _is_rank(process)]
        if target == "server":
            return [process for process in processes_here if SERVER in processes.command(process) and not _tag(process)]
        if target == "launcher":
            return [process for process in processes_here if _name(process) == "prterun"]
        module = {
            "stub": stub.__file__,
            "controller": "ipyparallel.controller",
            "conductor": "workshop.runtime.conductor",
            "dashboard": "workshop.server",
        }[target]
        return [process for process in processes_here if module in processes.command(process)]

    def remains(self) -> list[str]:
        """Processes and files that the session doesn't need any more and hasn't removed after the usual time."""
        deadline = time.monotonic() + patient(SETTLED)
        while True:
            current = self.looked()
            remains = processes_left(of_home(self._home)) + files_left(self._seen, current)
            if not remains or time.monotonic() > deadline:
                self._seen.forget(remains)  # each is reported once
                return remains
            time.sleep(0.5)

    def end(self) -> list[str]:
        """End `workshop up` as Ctrl-C does, and return what it has left behind."""
        self.looked()
        self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patient(ENDED))
        remaining = [f"{_name(process)} ({process.pid})" for process in of_home(self._home)]
        return remaining + files_left(self._seen, SessionTraces())


@contextmanager
def stage(home: Path) -> Iterator[Stage]:
    """Bring up `workshop up` in this state folder, and remove everything at the end of the block. Raises WorkshopError
    where it doesn't come up."""
    words = ["up", "--no-lab", "--session", SESSION, "--ranks", "2", "--port", str(free_port()), "--json"]
    with open(home / "up.log", "wb") as log:
        process = subprocess.Popen(
            guarded([sys.executable, "-c", UP, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )
    try:
        _wait_up(process, home / "up.log")
        with Store.open() as store:
            yield Stage(home, store, process)
    finally:
        process.kill()
        process.wait()
        for remaining in of_home(home):
            with suppress(psutil.Error):
                remaining.kill()


def _wait_up(process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it prints its links: one JSON document."""
    assert process.stdout is not None, "it is a pipe"
    timer = threading.Timer(patient(READY), process.kill)
    timer.start()
    text = b""
    try:
        while line := process.stdout.readline():
            text += line
            with suppress(ValueError):
                json.loads(text)
                return
    finally:
        timer.cancel()
    lines = log.read_text(errors="replace").strip().splitlines() or ["nothing"]
    raise WorkshopError(f"`workshop up` did not come up; it said: {lines[-1]}")


def _resume(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.resume()


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _is_rank(process: psutil.Process) -> bool:
    """A rank, forked or not; not the shell or guard that is about to become one."""
    command = processes.command(process)
    return _tag(process) and (SERVER in command or (RANK in command and _name(process).startswith("python")))


def _tag(process: psutil.Process) -> bool:
    """Whether a process carries the tag of a set of ranks."""
    with suppress(psutil.Error, OSError):
        return processes.ENGINES_TAG in process.environ()
    return False
