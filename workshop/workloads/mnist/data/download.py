"""One file from the network: checked by its checksum, within limits of time that a class would wait."""

from __future__ import annotations

import hashlib
import http.client
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

LARGEST = 64 << 20  # bytes
PIECE = 1 << 16  # bytes


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
                if len(data) > LARGEST:
                    raise ValueError(f"the file has over {LARGEST >> 20} MB")
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
