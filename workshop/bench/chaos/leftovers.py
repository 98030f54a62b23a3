"""Remains of a session on this machine: processes, segments of shared memory, folders of launchers."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from workshop.core import processes

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
