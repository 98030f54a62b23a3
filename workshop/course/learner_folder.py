"""A learner's folder, in which somebody may put links, pipes and files at any moment.

Every file is reached from the folder's descriptor, and no link is followed. So root reads and writes nothing elsewhere.
Files that root makes belong to the folder's owner.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import signal
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from workshop.core import file_locks
from workshop.core.errors import BadInput

LARGEST = 64 << 20  # bytes of a file that is read
ALONE = 30.0  # seconds for which another process may have the folder
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW
_NO_FILE = (errno.ENOENT, errno.ELOOP, errno.ENXIO)  # there is none, or a link, or a socket


class Folder:
    """Made by `opened` and `within`; good for as long as their block. Methods raise OSError."""

    def __init__(self, path: Path, handle: int, owner: os.stat_result) -> None:
        self.path = path  # for sentences: others may have moved it
        self._handle = handle
        self._owner = owner

    @contextmanager
    def within(self, parts: Sequence[str]) -> Iterator[Folder]:
        """A folder below this one, made where it isn't there. Raises BadInput where a link leads elsewhere."""
        path, handle = self.path, os.dup(self._handle)
        try:
            for part in parts:
                path /= part
                handle, created = _into(handle, part, path, os.O_RDONLY)
                if created:
                    self._give_away(handle)
            yield Folder(path, handle, self._owner)
        finally:
            os.close(handle)

    @contextmanager
    def alone(self, seconds: float = ALONE) -> Iterator[None]:
        """One process at a time; the kernel lets go of the lock with it, however it ends. Raises BadInput where another
        one has it for longer than that."""
        if not file_locks.lock(self._handle, time.monotonic() + seconds):
            raise BadInput(f"Another process has had {self.path} for {seconds:g} s; end it, or try again later.")
        try:
            yield
        finally:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    def has(self, name: str) -> bool:
        """Whether anything has that name."""
        try:
            os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where no file has that name, but nothing, a link, a folder or a pipe. Raises OSError,
        also for one that is larger than any notebook."""
        handle = self._file(name)
        if handle is None:
            return None
        with open(handle, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise OSError(errno.EFBIG, f"larger than {LARGEST >> 20} MB", name)
        return data

    def written(self, name: str) -> bool:
        """Whether somebody has a file open for writing, or is just opening it, which may take a busy disk a while.
        False where the file system can't tell."""
        handle = self._file(name)
        if handle is None:
            return False
        try:
            # The kernel grants no lease while there are writers. A program that opens the file in that moment is
            # noticed by a signal, by default one that would end this process.
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(handle)
        return False

    def _file(self, name: str) -> int | None:
        """A file's descriptor, for reading; None where no file has that name."""
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._handle)
        except OSError as error:
            if error.errno in _NO_FILE:
                return None
            raise
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        return None

    def write(self, name: str, data: bytes) -> None:
        """Write the whole file or nothing. It replaces a file of that name; the target of a link stays as it is."""
        with self._part(data) as part:
            os.rename(part, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def give(self, name: str, data: bytes) -> bool:
        """Make a new file, the whole file or nothing. False where the name exists."""
        with self._part(data) as part:
            return self.back(part, name)

    def aside(self, name: str, other: str) -> bool:
        """Rename a file, also while it is being saved. False where the new name exists."""
        try:
            os.close(os.open(other, os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=self._handle))  # ours from now on
        except FileExistsError:
            return False
        try:
            os.rename(name, other, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except BaseException:
            self.remove(other)
            raise
        return True

    def back(self, ours: str, name: str) -> bool:
        """Give a file that nobody else knows of a name that others may take in that moment. False where they have."""
        try:
            os.link(ours, name, src_dir_fd=self._handle, dst_dir_fd=self._handle, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError:  # some file systems know no second names
            return self.aside(ours, name)
        self.remove(ours)
        return True

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._handle)

    @contextmanager
    def _part(self, data: bytes) -> Iterator[str]:
        """A file of these bytes under a random name, which is removed afterwards if it is still there."""
        name = f".{secrets.token_hex(8)}.part"
        try:
            # Others may read it as far as whoever writes it lets them.
            handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666, dir_fd=self._handle)
            with open(handle, "wb") as file:
                self._give_away(handle)
                file.write(data)
            yield name
        finally:
            self.remove(name)

    def _give_away(self, handle: int) -> None:
        """Let what root has made belong to whom the folder belongs to: a server of a class may run as another user."""
        if os.geteuid() == 0 and self._owner.st_uid != 0 and os.fstat(handle).st_uid == 0:
            os.fchown(handle, self._owner.st_uid, self._owner.st_gid)


@contextmanager
def opened(path: Path, make: bool = True) -> Iterator[Folder]:
    """The folder of an absolute path, made if `make` is set. Raises BadInput where a part of the path is a link.
    Callers who trust links resolve them before."""
    here, handle = Path("/"), os.open("/", os.O_PATH | _FOLDER)
    try:
        parts = path.parts[1:]
        for number, part in enumerate(parts, start=1):
            here /= part
            handle, _ = _into(handle, part, here, os.O_RDONLY if number == len(parts) else os.O_PATH, make)
        yield Folder(path, handle, os.fstat(handle))
    finally:
        os.close(handle)


def _into(handle: int, part: str, path: Path, how: int, make: bool = True) -> tuple[int, bool]:
    """The descriptor of a folder in another one, and whether the folder was made. The other descriptor is closed."""
    created = False
    try:
        try:
            inner = os.open(part, how | _FOLDER, dir_fd=handle)
        except FileNotFoundError:
            if not make:
                raise
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=handle)
                created = True
            inner = os.open(part, how | _FOLDER, dir_fd=handle)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and path.is_symlink():
            why = f"{path} is a link to another folder; take it away, and copies are made there."
            raise BadInput(why) from None
        error.filename = str(path)
        raise
    os.close(handle)
    return inner, created
