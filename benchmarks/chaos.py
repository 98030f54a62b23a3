"""Processes of a session are killed at random instants of real runs: does every run end truly, and the next one work?

Ranks, their servers and launchers, controller, conductor and dashboard of a `workshop up` get SIGKILL. What is left
behind is counted: processes, segments of shared memory, folders of launchers.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
from workshop.runtime import client
from workshop.store.records import RunRecord
from workshop.store.store import Store

ALONE = False  # what it finds does not depend on what else the machine does
SECONDS = 180.0  # within which a run has ended, on an idle machine
SETTLED = 5.0  # seconds within which what a session no longer needs is gone
SESSION = "chaos"
RUN = {"data": "blobs", "points": 20_000, "clusters": 4, "mode": "online", "batch": 400, "pace": 0.03}
LATEST = 3.0  # seconds after the submission: a bit longer than a run takes
NEXT = {"data": "blobs", "points": 20_000, "clusters": 4, "iterations": 3, "backend": "numpy"}
# Who is killed, and a word of the command line by which it is known.
TARGETS = {
    "rank": "workshop.engine.host",
    "stub": "workshop/runtime/fork/stub.py",
    "server": "workshop.runtime.fork.server",
    "launcher": "prterun",
    "controller": "ipyparallel.controller",
    "conductor": "workshop.runtime.conductor",
    "dashboard": "workshop.server",
}
# How runs end that lost a process, by what they say of it.
LOST = ("RankDied", "EnginesDied", "RanksNotStarted", "RankServerDied", "ControllerDied", "RankSilent")
LOST += ("ConductorSilent", "EngineError")


@dataclass
class Outcome:
    """What came of a kill: whether the run that it met ended as it can have ended, and the seconds from the next run's
    submission to its end, None where that did not complete."""

    target: str
    true: bool
    seconds: float | None
    left: list[str]
    words: str


def run(kills: int = 200, seed: int = 1) -> Document:
    """Measure; returns the document. Raises WorkshopError where not even `workshop up` comes up."""
    where, draw = machine(["ipyparallel", "openmpi"]), random.Random(seed)
    targets = (list(TARGETS) * (kills // len(TARGETS) + 1))[:kills]
    draw.shuffle(targets)
    outcomes: list[Outcome] = []
    with own_state() as home, brought_up(home) as (store, up):
        left = Leftovers(home)
        for target in targets:
            outcomes.append(_kill(store, left, target, draw))
            say(f"{len(outcomes)} of {kills}: {outcomes[-1].words}")
        up.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            up.wait(patient(40.0))
        at_end = [f"process {process.pid}" for process in of_home(home)] + left.files()
    return told(where, outcomes, at_end, kills)


def _kill(store: Store, left: Leftovers, target: str, draw: random.Random) -> Outcome:
    """Kill a process during a run, then submit another one."""
    try:
        met = client.submit(store, store.session(SESSION), "kmeans", RUN)
        time.sleep(draw.uniform(0, LATEST))
        running = not store.run(met.id).ended
        hit = left.kill(target, draw)
        met = _ended(store, met)
        began = time.monotonic()
        following = _ended(store, client.submit(store, store.session(SESSION), "kmeans", NEXT))
    except WorkshopError as error:  # nothing answers any longer
        return Outcome(target, False, None, [], f"{target}: {error}")
    seconds = time.monotonic() - began if following.status == "completed" else None
    true, remains = true_status(target, hit and running, met.status, met.error), left.remains()
    error = f"{met.status} {(met.error or {}).get('type', '')}".strip()
    words = f"{target}: run {error}, next {following.status}{f', left {remains}' if remains else ''}"
    return Outcome(target, true, seconds, remains, words)


def true_status(target: str, hit: bool, status: str, error: Mapping[str, Any] | None) -> bool:
    """Whether a run can have ended like that; `hit` says whether the kill met it while it had not ended."""
    if status == "completed":
        return error is None
    if not hit or target == "dashboard" or not (error or {}).get("message"):
        return False
    return (status, target) == ("interrupted", "conductor") or (
        status == "failed" and (error or {}).get("type") in LOST
    )


def _ended(store: Store, run: RunRecord) -> RunRecord:
    """The run after its end, or as it is when patience ends."""
    deadline = time.monotonic() + patient(SECONDS)
    while not (run := store.run(run.id)).ended and time.monotonic() < deadline:
        time.sleep(0.1)
    return run


def told(where: Mapping[str, Any], outcomes: list[Outcome], at_end: list[str], kills: int) -> Document:
    """The document: how soon the next run worked, and all that was wrong. Ratios are shares of all planned kills;
    `left_behind` counts what was left for each."""
    rows: list[Row] = []
    for target in TARGETS:
        if seconds := [each.seconds for each in outcomes if each.target == target and each.seconds is not None]:
            rows.append(row(f"next run after a killed {target}", seconds, "s"))
    for number, each in enumerate(outcomes, 1):
        if not each.true or each.seconds is None or each.left:
            rows.append(missing(f"kill {number}", "", each.words))
    rows += [missing("after the end", "", f"left: {', '.join(at_end)}")] if at_end else []
    figures = {
        "true_status": sum(each.true for each in outcomes) / kills,
        "next_run_works": sum(each.seconds is not None for each in outcomes) / kills,
        "left_behind": (sum(len(each.left) for each in outcomes) + len(at_end)) / kills,
    }
    return document(where, rows, figures)


def of_home(home: Path) -> list[psutil.Process]:
    """All processes that work with a state folder, this one left out."""
    return [process for process in processes.tagged("WORKSHOP_HOME", str(home)) if process.pid != os.getpid()]


class Leftovers:
    """Traces of a session, noted while its processes lived, by which its leftovers are found."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.paths: set[Path] = set()  # segments of shared memory, folders of launchers

    def look(self) -> set[Path]:
        """Note and return what the session's processes have now."""
        now = set()
        for process in of_home(self.home):
            with suppress(psutil.Error, OSError):
                if process.name() == "prterun":
                    now.add(Path(tempfile.gettempdir()) / f"ompi.{process.pid}")
                maps = [line[73:] for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines()]
                now |= {Path(path.removesuffix(" (deleted)")) for path in maps if path.startswith("/dev/shm/")}
        self.paths |= now
        return now

    def kill(self, target: str, draw: random.Random) -> bool:
        """Kill one of these processes; False where there is none at this moment."""
        self.look()
        found = [process for process in of_home(self.home) if TARGETS[target] in " ".join(processes.command(process))]
        with suppress(psutil.NoSuchProcess, IndexError):
            draw.choice(sorted(found, key=lambda process: process.pid)).kill()
            return True
        return False

    def files(self) -> list[str]:
        """Noted files that still exist and belong to no living process."""
        return [str(path) for path in self.paths - self.look() if path.exists()]

    def remains(self) -> list[str]:
        """What the session hasn't removed after the usual time: files, and ranks of more than one set. Each file is
        told once."""
        deadline = time.monotonic() + patient(SETTLED)
        while (left := self.files() + self.sets()[1:]) and time.monotonic() < deadline:
            time.sleep(0.3)
        self.paths -= {Path(path) for path in left}
        return left

    def sets(self) -> list[str]:
        """The tags of the sets of ranks that live."""
        tags = set()
        for process in of_home(self.home):
            with suppress(psutil.Error, OSError):
                tags.add(process.environ().get(processes.ENGINES_TAG, ""))
        return sorted(tags - {""})


@contextmanager
def brought_up(home: Path) -> Iterator[tuple[Store, subprocess.Popen[bytes]]]:
    """`workshop up` in this state folder; all its processes end with the block. Raises WorkshopError."""
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "up", "--no-lab", "--session", SESSION, "--ranks", "2"]
    with open(home / "up.log", "wb") as log:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": log}
        process = subprocess.Popen(guarded([*command, "--port", str(free_port()), "--json"]), **streams)
    try:
        text = b""
        for line in process.stdout or ():
            text += line
            with suppress(ValueError):
                json.loads(text)
                break
        else:
            raise WorkshopError(f"`workshop up` did not come up; it said: {(home / 'up.log').read_text()[-300:]}")
        with Store.open() as store:
            yield store, process
    finally:
        process.kill()
        process.wait()
        for remaining in of_home(home):
            with suppress(psutil.Error):
                remaining.kill()
