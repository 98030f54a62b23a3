"""Where MNIST may be without anybody saying where: Keras's cache, and the network, from which it comes into that cache.
A file from the network is checked by its checksum, within limits of time that a class would wait. `at` and `ordinary`
read the files that params name.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workshop.core import config
from workshop.core.environment import KERAS_DATA
from workshop.core.errors import BadInput
from workshop.engine.data import DamagedFile

LARGEST_FILE = 64 << 20  # bytes, what the store takes as an artifact
NPZ = "mnist.npz"


@dataclass(frozen=True)
class File:
    """A file's bytes, and how messages name it."""

    name: str
    data: bytes


def at(data: str) -> File:
    """The npz file of a path. Raises BadInput."""
    try:
        return read(Path(data).expanduser(), data)
    except FileNotFoundError:
        raise BadInput(f"The data {data} isn't there; give auto, mnist, digits, or the path of an npz file.") from None
    except OSError as error:
        raise BadInput(f"The data {data} can't be read ({error.strerror}); give a path that you may read.") from error
    except (RuntimeError, ValueError) as error:  # an unknown ~user; a null character
        raise BadInput(f"The data {data!r} is no path ({error}); give the path of an npz file.") from error


def read(path: Path, name: str) -> File:
    """A file that messages call `name`. Raises OSError where it can't be read, BadInput where it can't be taken."""
    data = ordinary(path, f"The data file {name}", "give an npz file like Keras's mnist.npz")
    if not data:
        raise DamagedFile(name, data, "is empty")
    return File(name, data)


def ordinary(path: Path, name: str, right: str) -> bytes:
    """The bytes of an ordinary file, never of a device or a pipe. `right` says what should be given. Raises OSError for
    a file that can't be read, BadInput for one that can't be used."""
    if path.exists() and not path.is_file():
        raise BadInput(f"{name} is no ordinary file; {right}.")
    with path.open("rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise BadInput(f"{name} has over {LARGEST_FILE >> 20} MB, more than can be taken; {right}.")
    return data


REMEMBERED = 600.0  # seconds for which a failed download is not tried again: a class may have no network


@dataclass(frozen=True)
class Remote:
    """A file's address, its checksum, and the seconds after which it is given up."""

    address: str
    sha256: str
    answer: float = 5.0  # until the server answers, the look-up of its name included
    silence: float = 10.0  # without a byte
    seconds: float = 60.0


# Keras's own: https://github.com/keras-team/keras/blob/master/keras/src/datasets/mnist.py
MNIST = Remote(
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
    "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
)


class DownloadFailed(Exception):
    """A download that didn't succeed; its text says why, in a few words."""


def fetch(remote: Remote) -> bytes:
    """The file's bytes, with the right checksum; through a proxy where the environment names one. Raises
    DownloadFailed."""
    begun, answered, content = time.monotonic(), threading.Event(), Future[bytes]()

    def read() -> None:
        try:
            # An opener of its own knows the proxies and certificates that the environment names now.
            with urllib.request.build_opener().open(remote.address, timeout=remote.silence) as answer:
                answered.set()
                content.set_result(answer.read(LARGEST_FILE + 1))
        except Exception as error:
            content.set_exception(error)
            answered.set()

    # In a thread, because nothing limits how long the look-up of a name takes. One that is given up ends by itself.
    threading.Thread(target=read, daemon=True).start()
    if not answered.wait(remote.answer):
        raise DownloadFailed(f"no answer within {remote.answer:g} s")
    try:
        data = content.result(max(begun + remote.seconds - time.monotonic(), 0))
    except Exception as error:
        late = isinstance(error, TimeoutError) and not content.done()
        raise DownloadFailed(f"not done within {remote.seconds:g} s" if late else _why(error)) from error
    if (checksum := hashlib.sha256(data).hexdigest()) != remote.sha256:
        raise DownloadFailed(f"what came has sha256 {checksum[:16]}, not {remote.sha256[:16]}")
    return data


def _why(error: Exception) -> str:
    """An error of the network in a few words, without the layers around it."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        return _why(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


class NotThere(Exception):
    """A place that has no MNIST; its text says which place, and why."""


def keras_cache(remote: Remote) -> File:
    """The file that `keras.datasets.mnist.load_data()` has downloaded. Raises NotThere; BadInput for a file that can't
    be used.

    Keras's versions may differ in their file: it is checked by reading it, not by `remote`'s checksum.
    """
    path = _cached()
    try:
        return read(path, str(path))
    except FileNotFoundError:
        raise NotThere(f"Keras's cache has no {path}") from None
    except OSError as error:
        raise NotThere(f"{path} can't be read ({error.strerror})") from error


def download(remote: Remote) -> File:
    """The remote file, which is then kept in Keras's cache, unless another one is there. Raises NotThere; a failure is
    remembered for ten minutes."""
    host = urlsplit(remote.address).hostname
    if os.environ.get("WORKSHOP_OFFLINE", "0") not in ("", "0"):
        raise NotThere(f"nothing is downloaded from {host} while WORKSHOP_OFFLINE is set")
    path, failure = _cached(), _folder() / "failed"
    if why := _recent(failure):
        raise NotThere(f"the download from {host} failed {why}")
    try:
        data = fetch(remote)
        if not path.exists():
            _write(path, data)
    except (DownloadFailed, OSError) as error:
        with suppress(OSError):
            _write(failure, str(error).encode())
        raise NotThere(f"the download from {host} failed ({error})") from error
    failure.unlink(missing_ok=True)
    return File(str(path), data)


def _cached() -> Path:
    home = Path(os.environ.get(KERAS_DATA) or os.environ.get("KERAS_HOME") or "~/.keras").expanduser()
    return home / "datasets" / NPZ


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
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        half.write_bytes(data)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
