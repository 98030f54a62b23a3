"""Room on the disk of the state folder: how much is free, how much is needed, and what to say where it runs out."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from workshop.core.errors import WorkshopError
from workshop.core.memory import size

NO_ROOM = "NoRoom"  # type of the error of a run that ended because a disk was full
NEEDED = 16 << 20  # bytes that have to be free before a session or a run begins: store, logs, compiled kernels
RESERVE = 4 << 20  # bytes that a session sets aside: with them it writes how a run on a full disk ended
LEAST_FREE = 1 << 20  # bytes that have to be free while a run goes on


class NoRoom(WorkshopError):
    """A disk is full."""


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk or a person's share of it is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def check(folder: Path, what: str, needed: int = NEEDED) -> None:
    """Raise NoRoom where a folder's disk has less than `needed` bytes left for `what`."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise NoRoom(
            f"There is no room left in {folder}: {what} needs {size(needed)} there, and {size(free)} are free; free "
            "some space on that disk, or set WORKSHOP_HOME to a folder on another one."
        )


class Reserve:
    """RESERVE bytes that a session sets aside in its folder, and gives up when the disk is full."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "reserve"

    def fill(self) -> None:
        """Set the bytes aside. Raises NoRoom where there is no room for them and for a run."""
        if self._file.exists():
            check(self._folder, "a run", LEAST_FREE)
            return
        check(self._folder, "a run")
        with open(self._file, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, RESERVE)

    def release(self) -> None:
        """Give the bytes back."""
        self._file.unlink(missing_ok=True)

    def shortage(self) -> str:
        """Why a run can't go on, in one sentence; "" while there is room."""
        try:
            check(self._folder, "a run", LEAST_FREE)
        except NoRoom as error:
            return str(error)
        return ""
