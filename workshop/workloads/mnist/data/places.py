"""Where MNIST may be without anybody saying where: Keras's cache, and the network, from which it comes into that cache.
A file from the network is checked by its checksum, within limits of time that a class would wait."""

from __future__ import annotations

import hashlib
import http.client
import math
import os
import queue
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workshop.core import config
from workshop.core.environment import KERAS_DATA
from workshop.core.errors import BadInput
from workshop.workloads.mnist.data import files
from workshop.workloads.mnist.data.files import File

LARGEST_DOWNLOAD = 64 << 20  # bytes
PIECE = 1 << 16  # bytes
REMEMBERED = 600.0  # seconds for which a failed download is not tried again: a class may have no network


@dataclass(frozen=True)
class Remote:
    """A file's address, its checksum, and the seconds after which it is given up."""

    address: str
    sha256: str
    connect: float = 3.0  # until there is a connection, the look-up of the name included
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
    attempt = _Attempt(remote)
    # In a thread, because nothing limits how long the look-up of a name takes. One that is given up ends by itself.
    threading.Thread(target=attempt.run, daemon=True).start()
    content = attempt.result()
    if isinstance(content, Exception):
        raise DownloadFailed(_why(content)) from content
    if (checksum := hashlib.sha256(content).hexdigest()) != remote.sha256:
        raise DownloadFailed(f"what came has sha256 {checksum[:16]}, not {remote.sha256[:16]}")
    return content


class _Attempt:
    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._begun = time.monotonic()
        self._connected = threading.Event()
        self._found: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()

    def result(self) -> bytes | Exception:
        late = TimeoutError(f"no connection within {self._remote.connect:g} s")
        if not self._connected.wait(self._remote.connect):
            return late
        try:
            return self._found.get(timeout=max(self._begun + self._remote.seconds - time.monotonic(), 0))
        except queue.Empty:
            return self._too_slow()

    def run(self) -> None:
        try:
            self._found.put(self._read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._found.put(error)
        self._connected.set()  # whoever waits for a connection need not wait for one that is refused

    def _read(self) -> bytes:
        opener = urllib.request.build_opener(*_handlers(self._on_connected))
        with opener.open(self._remote.address, timeout=self._remote.connect) as answer:
            data = bytearray()
            while piece := answer.read1(PIECE):
                data += piece
                if len(data) > LARGEST_DOWNLOAD:
                    raise ValueError(f"the file has over {LARGEST_DOWNLOAD >> 20} MB")
                if time.monotonic() > self._begun + self._remote.seconds:
                    raise self._too_slow()
            return bytes(data)

    def _on_connected(self, connection: http.client.HTTPConnection) -> None:
        if not self._connected.is_set() and time.monotonic() > self._begun + self._remote.connect:
            raise TimeoutError("nobody waits any longer")
        self._connected.set()
        connection.sock.settimeout(self._remote.silence)

    def _too_slow(self) -> TimeoutError:
        return TimeoutError(f"not done within {self._remote.seconds:g} s")


def _handlers(on_connected: Callable[[http.client.HTTPConnection], None]) -> list[urllib.request.BaseHandler]:
    """urllib's handlers, with connections that tell when they are there."""

    class PlainConnection(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            on_connected(self)

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            on_connected(self)

    class PlainHandler(urllib.request.HTTPHandler):
        def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(PlainConnection, request)

    class SecureHandler(urllib.request.HTTPSHandler):
        def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, request)

    return [PlainHandler(), SecureHandler()]


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
        return files.read(path, str(path))
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
    return home / "datasets" / files.NPZ


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
