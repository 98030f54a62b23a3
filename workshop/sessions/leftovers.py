"""What killed ranks of this machine leave: shared memory, and folders for temporary files.

A segment that all ranks of a host have mapped needs no name any more. Without a name, the kernel frees it with the last
rank, however that ends. Segments that ranks make later, or that some have not mapped, are noted and removed when the
ranks have ended.

Libraries remove their temporary files when a process ends by itself, which ranks don't: they are killed. TensorFlow
leaves the code that it has generated.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from workshop.core.config import TEMPORARY
from workshop.mpi import openmpi

FOLDER = "/dev/shm/"
FILE = "segments"  # of a session, names the shared memory of the ranks that are up


def remember(folder: Path, mapped: Sequence[tuple[str, Iterable[str]]]) -> None:
    """Note what the ranks that are up have made, and take the names of what all have mapped; `folder` is the session's.

    `mapped`: for each rank its host, and the files of shared memory that it has mapped. Several hosts may share this
    one's memory under other names, and what the others have is not here."""
    (folder / FILE).write_text("\n".join(sorted({path for _, paths in mapped for path in paths})))
    for host in {host for host, _ in mapped}:
        for path in set.intersection(*(set(paths) for where, paths in mapped if where == host)):
            if path.startswith(FOLDER):
                Path(path).unlink(missing_ok=True)


def remembered(folder: Path) -> list[Path]:
    """The noted segments; empty without a note."""
    try:
        return [Path(line) for line in (folder / FILE).read_text().splitlines() if line.startswith(FOLDER)]
    except FileNotFoundError:
        return []


def remove(folder: Path) -> None:
    """Remove the noted segments of a session's last engines. Only to be called after they have ended."""
    for segment in remembered(folder):
        for path in _with_later_ones(segment):
            path.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        (folder / FILE).unlink()


def _with_later_ones(segment: Path) -> list[Path]:
    """A segment with the later ones of the same ranks, which MPICH numbers (mpich_shm_1e369e4e_0)."""
    job, _, number = segment.name.rpartition("_")
    if not job.startswith("mpich_shm_") or not number.isdigit():
        return [segment]
    return list(segment.parent.glob(f"{job}_*"))


LAUNCHER = "launcher"  # of a session, names the process that started the ranks that are up


def remember_launcher(folder: Path, launcher: int) -> None:
    """Note the process that starts ranks. If it is killed while it clears up, nothing else names its leftovers."""
    (folder / LAUNCHER).write_text(str(launcher))


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of a session's ranks, after the ranks have ended. `folder` is the session's own, which
    all of its hosts see."""
    shutil.rmtree(folder / TEMPORARY, ignore_errors=True)
    with contextlib.suppress(OSError, ValueError):  # none was started
        openmpi.remove_left(int((folder / LAUNCHER).read_text()))
    openmpi.clear_way()
