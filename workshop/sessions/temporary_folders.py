"""The folders for temporary files of a session's ranks and of their launcher.

Libraries remove theirs when a process ends by itself, which ranks don't: they are killed. TensorFlow leaves the code
that it has generated.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from workshop.core.config import TEMPORARY
from workshop.mpi import openmpi

LAUNCHER = "launcher"  # of a session, names the process that started the ranks that are up


def remember(folder: Path, launcher: int) -> None:
    """Note the process that starts ranks. If it is killed while it clears up, nothing else names its leftovers."""
    (folder / LAUNCHER).write_text(str(launcher))


def remove(folder: Path) -> None:
    """Remove the temporary files of a session's ranks, after the ranks have ended. `folder` is the session's own, which
    all of its hosts see."""
    shutil.rmtree(folder / TEMPORARY, ignore_errors=True)
    with contextlib.suppress(OSError, ValueError):  # none was started
        openmpi.remove_left(int((folder / LAUNCHER).read_text()))
    openmpi.clear_way()
