"""The states of a program's ranks, from their records, and where these say nothing, from the kernel and py-spy.

A rank that is in no MPI call is classified by the system call in which its main thread is, as /proc says: that costs
the rank nothing. py-spy says at which line of Python it is, and in which MPI call a rank is that has no record.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from workshop.workloads.hangs import recorder
from workshop.workloads.hangs.states import Activity, Call, RankState

PY_SPY = Path(sys.executable).with_name("py-spy")
PATIENCE = 5.0  # seconds that py-spy has; it needs 0.1
PAUSE = 0.1  # seconds between two looks at a thread
# Linux's system calls by what they wait for: (read, write, futex); nanosleep, clock_nanosleep, poll, select and epoll;
# wait4 and waitid. 64-bit ARM has the kernel's generic numbers, and no call that another one replaces.
CALLS = {
    "x86_64": ((0, 1, 202), {35, 230, 7, 23, 270, 271, 232, 281, 441}, {61, 247}),
    "aarch64": ((63, 64, 98), {101, 115, 72, 73, 22, 441}, {260, 95}),
}
(READ, WRITE, FUTEX), SLEEPS, CHILDREN = CALLS.get(platform.machine(), CALLS["x86_64"])
PYTHON = re.compile(r"\.py$|^<")  # files of Python's frames, not of C's


class Recorded(NamedTuple):
    """The record of a process: its calls, oldest first, each with its mark, and how it ended."""

    polls: int
    calls: tuple[tuple[bytes, Call], ...]
    end: Mapping[str, Any] | None


def read_progress(path: Path) -> tuple[int, int]:
    """The numbers of calls and of begins and ends in a record; (0, 0) where there is none."""
    try:
        with path.open("rb") as file:
            words = memoryview(file.read(recorder.END)).cast("Q")
        return words[recorder.CALLS], words[recorder.PROGRESS]
    except (OSError, TypeError, IndexError):
        return 0, 0


def read_record(path: Path) -> Recorded | None:
    """A record, None where there is none. A call that was written over meanwhile is left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < recorder.START:
        return None
    numbers = memoryview(data)[: recorder.END].cast("Q")
    calls = []
    for number in range(max(0, numbers[recorder.CALLS] - recorder.SLOTS + 1), numbers[recorder.CALLS]):
        place = recorder.START + recorder.SLOT * (number % recorder.SLOTS)
        text = data[place : place + recorder.SLOT]
        with suppress(ValueError, SyntaxError, TypeError):
            calls.append((text[:1], _call(ast.literal_eval(text[1:].partition(b"\n")[0].decode()))))
    closed = None
    with suppress(ValueError, SyntaxError):  # empty until the process ends
        closed = ast.literal_eval(data[recorder.END : recorder.START].rstrip(b"\0").decode())
    return Recorded(numbers[recorder.POLLS], tuple(calls), closed)


def _call(entry: dict[str, Any]) -> Call:
    """A call from the recorder's entry."""
    at = place(entry.pop("file", None), entry.pop("line", None))
    ranks: list[int] = []
    for part in filter(None, entry.pop("ranks", "").split(",")):
        first, _, last = part.partition("-")
        ranks += range(int(first), int(last or first) + 1)
    return Call(**entry | {"ranks": tuple(ranks), "requests": tuple(map(_call, entry.get("requests", ())))}, place=at)


def place(file: str | None, line: int | str | None) -> str:
    """A file and a line in short; files below this folder without the folder's name."""
    if not file:
        return ""
    with suppress(ValueError):
        file = str(Path(file).relative_to(Path.cwd()))
    return f"{file}:{line}"


class Sampler:
    """The ranks below a process, and what they do. `folder` has their records."""

    def __init__(self, parent: int, folder: Path) -> None:
        self.parent, self.folder = parent, folder
        self.size = 0
        self.ranks: dict[int, int] = {}  # rank -> process, also those that have ended
        self._numbers: dict[psutil.Process, int] = {}  # of processes that are ranks
        self._polls: dict[int, int] = {}

    def update(self) -> None:
        """Look which ranks there are."""
        living: dict[int, list[int]] = {}
        with suppress(psutil.Error):
            for process in psutil.Process(self.parent).children(recursive=True):
                if (rank := self._rank(process)) is not None:
                    living.setdefault(rank, []).append(process.pid)
        if not living:
            self.ranks = {}  # a program may start its ranks again
        for rank, pids in living.items():
            # A rank's children carry its number, too: the rank is the first that records, else the first of all.
            recording = [pid for pid in pids if (self.folder / str(pid)).exists()]
            if self.ranks.get(rank) not in recording:
                self.ranks[rank] = (recording or pids)[0]

    def _rank(self, process: psutil.Process) -> int | None:
        if process not in self._numbers:  # a process may be about to become another program
            try:
                variables = process.environ()
            except (psutil.Error, OSError):
                return None
            number = next((variables[name] for name in recorder.RANK_VARIABLES if name in variables), "")
            if not number.isdecimal():
                return None
            self._numbers[process] = int(number)
            self.size = int(variables.get("OMPI_COMM_WORLD_SIZE", variables.get("PMI_SIZE", "0")))
        return self._numbers[process]

    def progress(self) -> dict[int, tuple[int, int]]:
        """How many calls each rank's process has begun and ended."""
        pids = [pid for pid in self.ranks.values() if psutil.pid_exists(pid)]
        return {pid: read_progress(self.folder / str(pid)) for pid in pids}

    def states(self) -> list[RankState]:
        """Return the states of all ranks."""
        states = []
        for rank, pid in self.ranks.items():
            path = self.folder / str(pid)
            complete = path.exists() and read_progress(path)[0] < recorder.SLOTS
            states.append(replace(self._state(rank, pid), complete=complete))
        others = (rank for rank in range(self.size) if rank not in self.ranks)
        return [*states, *(RankState(rank, None, "unknown", detail="it isn't on this machine") for rank in others)]

    def _state(self, rank: int, pid: int) -> RankState:
        record = read_record(self.folder / str(pid)) or Recorded(0, (), None)
        status = psutil.STATUS_DEAD
        with suppress(psutil.Error):
            status = psutil.Process(pid).status()
        history, inside = (
            [call for mark, call in record.calls if mark == sought] for sought in (recorder.DONE, recorder.INSIDE)
        )
        mark, last = record.calls[-1] if record.calls else (b"", Call(""))
        state = partial(RankState, rank, pid, history=tuple(history))
        if status == psutil.STATUS_STOPPED:
            return state("stopped", detail=f"after {history[-1].name} at {history[-1].place}" if history else "")
        if record.end is not None:
            how: Activity = "raised" if record.end["how"] == "raised" else "ended"
            text, at = record.end.get("text", ""), place(record.end.get("file"), record.end.get("line"))
            within = f"in {last.name}: " if how == "raised" and mark == recorder.RAISED else ""
            return state(how, at, detail=within + text)
        if status in (psutil.STATUS_DEAD, psutil.STATUS_ZOMBIE):
            return state("ended", detail="its process is gone")
        if inside:
            return state("mpi", inside[-1].place, inside[-1])
        before, self._polls[pid] = self._polls.get(pid, record.polls), record.polls
        if mark == recorder.POLLED:
            time.sleep(PAUSE)
            later = read_record(self.folder / str(pid))
            if record.polls > before or (later is not None and later.polls > record.polls):
                return state("polling", last.place, _polled(record))
        return look(rank, pid, tuple(history))


def _polled(record: Recorded) -> Call:
    """The last test without success, or all that a process tests in turn as one call."""
    polls = [call for _, call in takewhile(lambda pair: pair[0] == recorder.POLLED, reversed(record.calls))]
    tested = tuple(dict.fromkeys(each for call in reversed(polls) for each in call.requests or (call,)))
    return polls[0] if len(polls) == 1 else replace(polls[0], requests=tested, comm="", source=None, recvtag=None)


def look(rank: int, pid: int, history: tuple[Call, ...] = ()) -> RankState:
    """Find out what a rank does that is in no recorded call."""
    state = partial(RankState, rank, pid, history=history)
    if hidden := _hidden(pid):
        return state("unknown", _where(_frames(pid, native=False)[0]), detail=hidden)
    try:
        does, detail = _activity(pid)
    except (OSError, psutil.Error, ValueError):
        return state("unknown", detail="its process has just ended")
    frames, fault = _frames(pid)
    python, where = [frame for frame in frames if PYTHON.search(frame["filename"] or "")], _where(frames)
    for frame in frames:
        if str(frame["name"]).startswith(("PMPI_", "MPI_")):
            call = Call(str(frame["name"]).partition("MPI_")[2].removesuffix("_thread"), place=where)
            return state("mpi", where, call)
    if not frames and does != "input":
        return state("unknown", detail=fault)
    if does in ("lock", "pipe") and python and recorder.LIBRARY.search(python[0]["filename"]):
        detail = f"in {python[0]['name']} of {Path(python[0]['filename']).stem}"
    return state(does, where, detail=detail)


def _where(frames: list[dict[str, Any]]) -> str:
    """The innermost place in the program itself, in a file if there is one: libraries make code from text, too."""
    python = (frame for frame in frames if PYTHON.search(frame["filename"] or ""))
    program = [frame for frame in python if not recorder.LIBRARY.search(frame["filename"])]
    program.sort(key=lambda frame: str(frame["filename"]).startswith("<"))
    return place(program[0]["filename"], program[0]["line"]) if program else ""


def _hidden(pid: int) -> str:
    """Say why no MPI call of a Python process can be seen, if that is so: a library makes them."""
    try:
        files = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""
    if "/horovod/" in files:
        return "Horovod makes its MPI calls"
    return "it runs no Python" if "/libpython" not in files and "/python" not in files else ""


def _activity(pid: int) -> tuple[Activity, str]:
    """Find out what the main thread of a process waits for, and at which pipe. Raises OSError."""
    before, number, words = _thread(pid, pid)
    time.sleep(PAUSE)
    after, later, _ = _thread(pid, pid)
    if number in SLEEPS:
        return "sleeping", ""
    if number == later == FUTEX and int(words[4], 16):
        return "sleeping", "it waits with a limit of time"  # or for another thread of its own that works
    if before != after or number < 0:
        return "computing", ""
    if number == FUTEX:
        return ("computing", "a thread of it") if _threads_work(pid) else ("lock", "")
    if number in (READ, WRITE):
        descriptor, name = int(words[1], 16), ""
        with suppress(OSError):
            name = os.readlink(f"/proc/{pid}/fd/{descriptor}")
        return ("input", "") if number == READ and descriptor == 0 else ("pipe", name)
    return "pipe", "it waits for a child" if number in CHILDREN else f"in system call {number}"


def _thread(pid: int, thread: int) -> tuple[str, int, list[str]]:
    """The system call of a thread and how often it has slept, where equal texts mean that it has not moved; the call's
    number, negative outside of any; and the call with its arguments."""
    folder = Path(f"/proc/{pid}/task/{thread}")
    text = (folder / "syscall").read_text()
    switches = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("voluntary"))
    words = text.split()
    return f"{text} {switches}", int(words[0]) if words[0].isdecimal() else -1, words


def _threads_work(pid: int) -> bool:
    """Whether another thread that runs Python works, or waits with a limit of time."""
    threads = [int(thread.get("os_thread_id") or pid) for thread in _dump(pid)[0] if thread.get("frames")]
    for thread in {*threads} - {pid}:
        with suppress(OSError, ValueError):
            _, number, words = _thread(pid, thread)
            if number in SLEEPS or number < 0 or (number == FUTEX and int(words[4], 16)):
                return True
    return False


def _frames(pid: int, native: bool = True) -> tuple[list[dict[str, Any]], str]:
    """The frames of the main thread, innermost first, or none and the reason. `native` has those of C, too."""
    threads, fault = _dump(pid, native)
    main = [thread for thread in threads if pid in (thread.get("os_thread_id"), thread.get("thread_id"))] or threads[:1]
    return (main[0]["frames"] if main else []), fault


def _dump(pid: int, native: bool = True) -> tuple[list[dict[str, Any]], str]:
    """The threads of a Python process as py-spy sees them, or none and the reason."""
    try:
        command = [str(PY_SPY), "dump", *(["--native"] if native else []), "--json", "--pid", str(pid)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return json.loads(done.stdout), ""
    except subprocess.TimeoutExpired:
        return [], f"py-spy had no answer within {PATIENCE:.0f} s"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return [], f"py-spy says: {lines[0][:200]}" if lines else "py-spy can't see it"
