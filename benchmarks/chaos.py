"""Processes of a session are killed at random instants of real runs: does every run end truly, and the next one work?

Ranks, their servers and launchers, controller, conductor and dashboard of a `workshop up` get SIGKILL. What is left
behind is counted: ranks of earlier sets, segments of shared memory, folders of launchers.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks import Document, Row, document, machine, missing, row, say
from benchmarks.processes import own_state
from workshop.core import processes
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.patience import patient
from workshop.core.ports import free_port
from workshop.sessions import client
from workshop.store.store import Store

ALONE = False  # what it finds does not depend on what else the machine does
READY, SECONDS, SETTLED = 120.0, 180.0, 5.0  # until it is up, until a run has ended, until what isn't needed is gone
SESSION = "chaos"
# A run of one to two seconds, and a kill up to a bit later.
RUN = {"data": "blobs", "points": 20_000, "clusters": 4, "mode": "online", "batch": 400, "pace": 0.02}
LATEST = 2.0
NEXT = {"data": "blobs", "points": 20_000, "clusters": 4, "iterations": 3, "backend": "numpy"}
# Who is killed, and a word of the command line by which it is known.
TARGETS = {
    "rank": "workshop.sessions.fork.server",  # a copy of its server, which has no tag of a set of ranks
    "stub": "workshop/sessions/fork/stub.py",
    "server": "workshop.sessions.fork.server",
    "launcher": "prterun",
    "controller": "ipyparallel.controller",
    "conductor": "workshop.sessions.conductor",
    "dashboard": "workshop.web.server",
}
# How runs end that lost a process, by what they say of it.
LOST = ("RankDied", "EnginesDied", "RanksNotStarted", "RankServerDied", "ControllerDied", "RankSilent")
LOST += ("ConductorSilent", "EngineError")


@dataclass
class Kill:
    """What came of a kill: whether its run ended truly, and in which time the next one; None: it did not complete."""

    target: str
    words: str
    true: bool = False
    seconds: float | None = None
    left: list[str] = field(default_factory=list)


def run(kills: int = 200, seed: int = 1) -> Document:
    """Measure; returns the document. Raises WorkshopError where not even `workshop up` comes up."""
    where, draw = machine(["ipyparallel", "openmpi"]), random.Random(seed)
    targets = (list(TARGETS) * (kills // len(TARGETS) + 1))[:kills]
    draw.shuffle(targets)
    done: list[Kill] = []
    with own_state() as home, brought_up(home) as (store, up):
        paths: set[Path] = set()
        for target in targets:
            try:
                done.append(_kill(store, home, paths, target, draw))
            except WorkshopError as error:  # nothing answers any longer
                done.append(Kill(target, str(error)))
            say(f"{len(done)} of {kills}: {target}: {done[-1].words}")
        up.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            up.wait(patient(40.0))
        at_end = [f"process {process.pid}" for process in of_home(home)] + leftovers(home, paths)
    return told(where, done, at_end)


def _kill(store: Store, home: Path, paths: set[Path], target: str, draw: random.Random) -> Kill:
    """Kill a process during a run, if there is one then, and submit another run."""
    met = client.submit(store, store.session(SESSION), "kmeans", RUN)
    time.sleep(draw.uniform(0, LATEST))
    leftovers(home, paths)
    running = not store.run(met.id).ended
    found = [process for process in of_home(home) if TARGETS[target] in " ".join(processes.command(process))]
    if target in ("rank", "server"):
        found = [process for process in found if bool(_set(process)) == (target == "rank")]
    with suppress(psutil.NoSuchProcess, IndexError):
        draw.choice(sorted(found, key=lambda process: process.pid)).kill()
    began, seconds = time.monotonic(), {}
    following = client.submit(store, store.session(SESSION), "kmeans", NEXT)
    for each in (met, following):
        while not store.run(each.id).ended and time.monotonic() < began + patient(SECONDS):
            time.sleep(0.1)
        seconds[each.id] = time.monotonic() - began
    met, following = store.run(met.id), store.run(following.id)
    while (left := leftovers(home, paths)) and time.monotonic() < began + seconds[following.id] + patient(SETTLED):
        time.sleep(0.3)
    paths -= {Path(path) for path in left}  # each is told once
    error = (met.error or {}).get("type", "")
    words = f"run {met.status} {error}, next {following.status}{f', left {left}' if left else ''}"
    took = seconds[following.id] - seconds[met.id] if following.status == "completed" else None
    return Kill(target, words, true_status(target, running, met.status, met.error), took, left)


def true_status(target: str, hit: bool, status: str, error: Mapping[str, Any] | None) -> bool:
    """Whether a run can have ended like that; `hit` says whether the kill met it while it had not ended."""
    if status == "completed" or error is None:
        return status == "completed" and error is None
    lost = status == "failed" and error["type"] in LOST
    return hit and target != "dashboard" and (lost or (status, target) == ("interrupted", "conductor"))


def told(where: Mapping[str, Any], done: list[Kill], at_end: list[str]) -> Document:
    """The document: how soon the next run worked, and all that was wrong. Ratios are shares of all kills."""
    rows: list[Row] = []
    for target in TARGETS:
        if seconds := [kill.seconds for kill in done if kill.target == target and kill.seconds is not None]:
            rows.append(row(f"next run after a killed {target}", seconds, "s"))
    wrong = [
        (number, kill) for number, kill in enumerate(done, 1) if not kill.true or kill.seconds is None or kill.left
    ]
    rows += [missing(f"kill {number} of a {kill.target}", "", kill.words) for number, kill in wrong]
    rows += [missing("after the end", "", f"left: {', '.join(at_end)}")] if at_end else []
    figures = {
        "true_status": sum(kill.true for kill in done) / len(done),
        "next_run_works": sum(kill.seconds is not None for kill in done) / len(done),
        "left_behind": (sum(len(kill.left) for kill in done) + len(at_end)) / len(done),
    }
    return document(where, rows, figures)


def of_home(home: Path) -> list[psutil.Process]:
    return processes.tagged("WORKSHOP_HOME", str(home))


def _set(process: psutil.Process) -> str:
    """The tag of a process's set of ranks; "" where it belongs to none."""
    with suppress(psutil.Error, OSError):
        return str(process.environ().get(processes.ENGINES_TAG, ""))
    return ""


def leftovers(home: Path, paths: set[Path]) -> list[str]:
    """Files among `paths` that belong to no living process, and all sets of ranks but one. Adds to `paths` the segments
    of shared memory and the launchers' folders of processes that live."""
    now, sets = set(), set()
    for process in of_home(home):
        with suppress(psutil.Error, OSError):
            sets.add(_set(process))
            if process.name() == "prterun":
                now.add(Path(tempfile.gettempdir()) / f"ompi.{process.pid}")
            maps = [line[73:] for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines()]
            now |= {Path(path.removesuffix(" (deleted)")) for path in maps if path.startswith("/dev/shm/")}
    gone = [str(path) for path in paths - now if path.exists()]
    paths |= now
    return gone + sorted(sets - {""})[1:]


@contextmanager
def brought_up(home: Path) -> Iterator[tuple[Store, subprocess.Popen[bytes]]]:
    """`workshop up` in this state folder; all its processes end with the block. Raises WorkshopError."""
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "up", "--no-lab", "--session", SESSION, "--ranks", "2"]
    with open(home / "up.log", "wb") as log:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process = subprocess.Popen(guarded([*command, "--port", str(free_port())]), **streams)
    try:
        with Store.open() as store:
            deadline, state = time.monotonic() + patient(READY), ""
            while state != "ready":
                if process.poll() is not None or time.monotonic() > deadline:
                    raise WorkshopError(f"`workshop up` did not come up: {(home / 'up.log').read_text()[-300:]}")
                time.sleep(0.2)
                with suppress(WorkshopError):  # there is no such session yet
                    state = store.session(SESSION).state
            yield store, process
    finally:
        process.kill()
        process.wait()
        for remaining in of_home(home):
            with suppress(psutil.Error):
                remaining.kill()
