"""Stand-ins for ssh and sshd on emulated hosts, which run a program on another host over the emulated network.

`python -m workshop.cli.emulation.remote [-o OPTION]… HOST COMMAND…` takes ssh's words as MPI launchers write them. A
HOST that is the path of a socket is reached from outside, and its commands get the caller's environment. Like ssh, it
exits with 255 some seconds after the line was cut. Like sshd, the other end gives commands a fresh environment and
lets them run when the connection breaks. There is no encryption and no password, because only this machine is on that
network."""

from __future__ import annotations

import contextlib
import getopt
import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

PORT = 22
CONNECTED = 5.0  # seconds within which a host must have answered
SILENCE = 6  # seconds after which the kernel takes a line over the network for cut
LOST = 255  # ssh's exit code where the line broke
CHUNK = 1 << 16
_HEAD = struct.Struct("!cI")  # kind and length of what follows
OPTIONS = "46AaCfGgKkMNnqsTtVvXxYyb:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:"  # ssh's


class Line:
    """One end of a connection, over which frames go: a command, input, output, errors, an exit code."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(None)
        if sock.family == socket.AF_INET:  # the kernel asks each second whether the other end is there
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in (("NODELAY", 1), ("KEEPIDLE", 1), ("KEEPINTVL", 1), ("KEEPCNT", SILENCE)):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{option}"), value)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE * 1000)
        self._socket = sock
        self._stream = sock.makefile("rb")
        self._lock = threading.Lock()

    def send(self, kind: bytes, data: bytes = b"") -> None:
        with self._lock:
            self._socket.sendall(_HEAD.pack(kind, len(data)) + data)

    def read(self) -> tuple[bytes, bytes]:
        """The next frame. Raises OSError where the line is cut."""
        head = self._stream.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ConnectionError("the other end hung up")
        kind, length = _HEAD.unpack(head)
        return kind, self._stream.read(length)

    def copy(self, stream: IO[bytes], kind: bytes) -> None:
        """Send all that a stream has, and an empty frame; ends with the line, and closes the stream."""
        with contextlib.suppress(OSError), stream:
            while data := stream.read(CHUNK):
                self.send(kind, data)
            self.send(kind)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def serve(listening: socket.socket) -> None:
    """Run commands for everybody who connects to this socket, for ever."""
    while True:
        sock, _ = listening.accept()
        threading.Thread(target=_answer, args=(Line(sock),), daemon=True).start()


def _answer(line: Line) -> None:
    home = os.environ.get("HOME", "/")
    with contextlib.suppress(OSError):
        request = json.loads(line.read()[1])
        process = subprocess.Popen(
            request["command"],
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=home if os.access(home, os.X_OK) else "/",
            env=_fresh() | request["environment"],
            start_new_session=True,
        )
        outputs = [_in_background(line.copy, process.stdout, b"o"), _in_background(line.copy, process.stderr, b"e")]
        _in_background(_take_input, line, process.stdin)
        code = process.wait()
        for output in outputs:
            output.join()
        line.send(b"x", str(code if code >= 0 else 128 - code).encode())
    line.close()


def _take_input(line: Line, stream: IO[bytes]) -> None:
    """Give a command its input, whose end is an empty frame or the end of the line."""
    with contextlib.suppress(OSError), stream:
        while data := line.read()[1]:
            stream.write(data)


def _in_background(function: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def _fresh() -> dict[str, str]:
    """The environment of a login, without any variable of the caller."""
    login = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
    return login | {name: os.environ[name] for name in ("HOME", "USER", "LOGNAME") if name in os.environ}


def call(line: Line, command: str, environment: Mapping[str, str]) -> int:
    """Run a command at the other end of a line, with our standard streams; returns its exit code, LOST where the line
    breaks."""
    with contextlib.suppress(OSError):
        line.send(b"c", json.dumps({"command": command, "environment": dict(environment)}).encode())
        _in_background(line.copy, io.FileIO(0, closefd=False), b"i")
        while True:
            kind, data = line.read()
            if kind == b"x":
                return int(data)
            while data:
                data = data[os.write(1 if kind == b"o" else 2, data) :]
    return LOST


def _words(words: Sequence[str]) -> tuple[str, str]:
    """The host and the command in ssh's words; like ssh's, a command is one line for the shell over there."""
    _, rest = getopt.getopt(list(words), OPTIONS)
    if len(rest) < 2:
        sys.exit("usage: remote [-o OPTION]... HOST COMMAND...")
    return rest[0], " ".join(rest[1:])


def main() -> int:
    host, command = _words(sys.argv[1:])
    try:
        if "/" in host:
            return call(Line(_at(Path(host), socket.socket.connect)), command, os.environ)
        return call(Line(socket.create_connection((host, PORT), CONNECTED)), command, {})
    except OSError as error:
        print(f"connect to host {host} port {PORT}: {error.strerror or error}", file=sys.stderr)
        return LOST


def listen(path: Path) -> socket.socket:
    """Listen at a path. Raises OSError."""
    opened = _at(path, socket.socket.bind)
    opened.listen()
    return opened


def _at(path: Path, what: Callable[[socket.socket, str], None]) -> socket.socket:
    """A socket at a path, which may be longer than a socket's limit. Raises OSError."""
    opened = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH)
    try:
        what(opened, f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return opened


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # a thread may still read our input
