"""Where MNIST may be without anybody saying where: Keras's cache, our own download, and the network."""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.engine.data.damage import DamagedFile
from workshop.workloads.mnist.data import files
from workshop.workloads.mnist.data.download import DownloadFailed, Remote, fetch
from workshop.workloads.mnist.data.files import File

REMEMBERED = 600.0  # seconds for which a failed download is not tried again: a class may have no network


class NotThere(Exception):
    """A place that has no MNIST; its text says which place, and why."""


def keras_cache(remote: Remote) -> File:
    """The file that `keras.datasets.mnist.load_data()` has downloaded. Raises NotThere; BadInput for a file that can't
    be used.

    Keras's versions may differ in their file: it is checked by reading it, not by `remote`'s checksum.
    """
    home = Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    return _file(home / "datasets" / files.NPZ, "Keras's cache")


def own_cache(remote: Remote) -> File:
    """The file that we have downloaded earlier. Raises NotThere; BadInput for a file that differs from the remote
    one."""
    file = _file(_folder() / files.NPZ, "our own cache")
    if hashlib.sha256(file.data).hexdigest() != remote.sha256:
        raise DamagedFile(file.name, file.data, "is damaged", f"it should have {remote.sha256[:16]}")
    return file


def download(remote: Remote) -> File:
    """The remote file, which is then kept in our cache. Raises NotThere; a failure is remembered for ten minutes."""
    host = urlsplit(remote.address).hostname
    if os.environ.get("WORKSHOP_OFFLINE", "0") not in ("", "0"):
        raise NotThere(f"nothing is downloaded from {host} while WORKSHOP_OFFLINE is set")
    path, failure = _folder() / files.NPZ, _folder() / "failed"
    if why := _recent(failure):
        raise NotThere(f"the download from {host} failed {why}")
    try:
        data = fetch(remote)
        _write(path, data)
    except (DownloadFailed, OSError) as error:
        with suppress(OSError):
            _write(failure, str(error).encode())
        raise NotThere(f"the download from {host} failed ({error})") from error
    failure.unlink(missing_ok=True)
    return File(str(path), data)


def _file(path: Path, whose: str) -> File:
    try:
        return files.read(path, str(path))
    except FileNotFoundError:
        raise NotThere(f"{whose} has no {path}") from None
    except OSError as error:
        raise NotThere(f"{path} can't be read ({error.strerror})") from error


def _folder() -> Path:
    try:
        return config.cache_folder("mnist")
    except (BadInput, OSError) as error:
        raise NotThere(f"there is no cache of our own ({str(error).rstrip('.')})") from error


def _recent(failure: Path) -> str:
    """When a download failed, why, and when the next one is tried; empty if one may be tried now."""
    try:
        age = time.time() - failure.stat().st_mtime
        reason = failure.read_text()
    except OSError:
        return ""
    if not 0 <= age < REMEMBERED:
        return ""
    return f"{_minutes(age)} ago ({reason}) and is tried again in {_minutes(REMEMBERED - age)}"


def _minutes(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    return "a minute" if minutes <= 1 else f"{minutes} minutes"


def _write(path: Path, data: bytes) -> None:
    """Write a file so that other processes see the whole file or none."""
    half = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        half.write_bytes(data)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
