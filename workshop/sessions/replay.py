"""Shows a recording from a state folder of its own, which is removed at the end.

Nothing of the user's state is touched. The next replay removes the folder of a killed one: a folder is in use as long
as a process holds the lock in it, and the kernel releases the lock of a dead process.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.store.recording import load
from workshop.store.store import Store

PREFIX = "workshop-replay-"
MAKING = "workshop-making-replay-"  # until its lock is held
MADE_WITHIN = 60.0  # seconds
LOCK = "lock"
FOLDER, SUFFIX = "recorded", ".db.gz"  # where recordings are that come with the labs


def shipped() -> Path:
    """The recording that comes with the project. Raises BadInput where there is none."""
    recordings = sorted((config.labs_folder() / FOLDER).glob(f"*{SUFFIX}"))
    if not recordings:
        raise BadInput("No recording came with this installation; give a file that `workshop record` has made.")
    return recordings[0]


@contextmanager
def replayed(path: Path) -> Iterator[Store]:
    """A store that holds a recording, in a state folder that is this process's (and its children's) for as long as the
    block lasts. Raises BadInput for a file that can't be shown."""
    clear()
    path = path.absolute()
    with _folder() as folder, config.elsewhere(folder):
        load(path, config.home() / config.DATABASE)
        with Store.open() as store:
            yield store


def clear() -> None:
    """Remove the folders of replays that were killed."""
    here = Path(tempfile.gettempdir())
    for folder in here.glob(f"{PREFIX}*"):
        if _is_mine(folder) and (lock := _locked(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    for folder in here.glob(f"{MAKING}*"):
        if _is_mine(folder) and time.time() - folder.stat().st_mtime > MADE_WITHIN:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _folder() -> Iterator[Path]:
    """A new folder that only its owner can look into. It has its name once its lock is held."""
    making = Path(tempfile.mkdtemp(prefix=MAKING))
    folder = making.with_name(PREFIX + secrets.token_hex(8))
    try:
        (making / LOCK).touch(mode=0o600)
        lock = _locked(making)
        assert lock is not None, "nobody else knows it"
        making.rename(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _is_mine(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    return status.st_uid == os.getuid() and not folder.is_symlink() and folder.is_dir()


def _locked(folder: Path) -> int | None:
    """The lock of a folder, now ours, as a file descriptor; None where somebody has it."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock
