"""Shared memory that a session's ranks made on this machine: it outlives ranks that somebody killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

FILE = "segments"  # of a session, names the shared memory of the ranks that are up


def remember(folder: Path, paths: Iterable[str]) -> None:
    """Note what the ranks that are up have made; `folder` is the session's."""
    (folder / FILE).write_text("\n".join(paths))


def remembered(folder: Path) -> list[Path]:
    """What was noted; empty where nothing was."""
    try:
        return [Path(line) for line in (folder / FILE).read_text().splitlines() if line.startswith("/dev/shm/")]
    except FileNotFoundError:
        return []


def remove(folder: Path) -> None:
    """Remove what was noted of a session's last engines; only to be called when they have ended."""
    for segment in remembered(folder):
        for path in _with_later_ones(segment):
            path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        (folder / FILE).unlink()


def _with_later_ones(segment: Path) -> list[Path]:
    """A segment, and those that the same ranks have made since: MPICH numbers them (mpich_shm_1e369e4e_0)."""
    job, _, number = segment.name.rpartition("_")
    if not job.startswith("mpich_shm_") or not number.isdigit():
        return [segment]
    return list(segment.parent.glob(f"{job}_*"))
