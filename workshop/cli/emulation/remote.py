"""Stand-ins for ssh and sshd on emulated hosts, which run a program on another host over the emulated network.

`python -m workshop.cli.emulation.remote [-o OPTION]… HOST COMMAND…` takes ssh's words as MPI launchers write them. A
HOST that is the path of a socket is reached from outside, and its commands get the caller's environment. Like ssh, it
hangs up after some silent seconds and exits with 255. Like sshd, the other end gives commands a fresh environment and
lets them run when the connection breaks. There is no encryption and no password, because only this machine is on that
network."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import selectors
import socket
import struct
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

PORT = 22
CONNECTED = 5.0  # seconds within which a host must have answered
EVERY = 1.0  # seconds between signs of life
SILENCE = 6.0  # seconds without one after which either end hangs up, where there is a network between them
LOST = 255  # ssh's exit code where the line broke
CHUNK = 1 << 16
_HEAD = struct.Struct("!cI")  # kind and length of what follows
_WITH_VALUE = frozenset("bcDEeFIiJLlmOopQRSWw")  # ssh's options that have one


# The host's end.


async def serve(listening: Sequence[socket.socket]) -> None:
    """Run commands for everybody who connects to one of these sockets, for ever."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
                await _answer(reader, writer)
        finally:
            writer.close()

    servers = [await _server(answer, opened) for opened in listening]
    await asyncio.gather(*(server.serve_forever() for server in servers))


async def _server(answer: Any, opened: socket.socket) -> asyncio.Server:
    if opened.family == socket.AF_UNIX:
        return await asyncio.start_unix_server(answer, sock=opened)
    return await asyncio.start_server(answer, sock=opened)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = json.loads((await _frame(reader))[1])
    home = os.environ.get("HOME", "/")
    over_network = writer.get_extra_info("socket").family != socket.AF_UNIX
    async with _pipe() as (output, into_output), _pipe() as (errors, into_errors):
        process = await asyncio.create_subprocess_shell(
            request["command"],
            stdin=asyncio.subprocess.PIPE,
            stdout=into_output,
            stderr=into_errors,
            cwd=home if os.access(home, os.X_OK) else "/",
            env=_fresh() | request["environment"],
            start_new_session=True,
        )
        os.close(into_output)
        os.close(into_errors)
        ended = asyncio.create_task(process.wait())
        _running.add(ended)  # also when nobody listens any longer: a process that asyncio forgets is killed
        ended.add_done_callback(_running.discard)
        tasks = [
            asyncio.create_task(coroutine)
            for coroutine in (
                _take_input(reader, process, SILENCE if over_network else None),
                _stay_alive(writer),
                _until_ended(ended, output, errors, writer),
            )
        ]
        try:
            # Whatever happens first: the command has ended, or the line is broken.
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            if process.stdin is not None:
                process.stdin.close()


_running: set[asyncio.Task[int]] = set()


@contextlib.asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A pipe whose reading end is closed afterwards, also while the writer still runs."""
    ours, writing_end = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", 0)
    )
    try:
        yield reader, writing_end
    finally:
        transport.close()


async def _until_ended(
    ended: asyncio.Task[int], output: asyncio.StreamReader, errors: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    await asyncio.gather(_pass_on(output, writer, b"o"), _pass_on(errors, writer, b"e"))
    code = await asyncio.shield(ended)
    writer.write(_packed(b"x", str(code if code >= 0 else 128 - code).encode()))
    await writer.drain()


async def _pass_on(stream: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: bytes) -> None:
    while data := await stream.read(CHUNK):
        writer.write(_packed(kind, data))
        await writer.drain()


async def _stay_alive(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(_packed(b"k"))
        await writer.drain()
        await asyncio.sleep(EVERY)


async def _take_input(
    reader: asyncio.StreamReader, process: asyncio.subprocess.Process, patience: float | None
) -> None:
    assert process.stdin is not None, "it is a pipe"
    while True:
        kind, data = await asyncio.wait_for(_frame(reader), patience)
        with contextlib.suppress(ConnectionError):
            if kind == b"i" and data:
                process.stdin.write(data)
                await process.stdin.drain()
            elif kind == b"i":
                process.stdin.close()


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind, length = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    return kind, await reader.readexactly(length)


def _packed(kind: bytes, data: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(data)) + data


def _fresh() -> dict[str, str]:
    """The environment of a login, without any variable of the caller."""
    login = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
    return login | {name: os.environ[name] for name in ("HOME", "USER", "LOGNAME") if name in os.environ}


# The caller's end.


def call(line: socket.socket, command: str, environment: Mapping[str, str] | None = None) -> int:
    """Run a command at the other end of a line, with our standard streams; returns its exit code, LOST where the line
    breaks, or falls silent although there is a network."""
    over_network = line.family != socket.AF_UNIX
    line.sendall(_packed(b"c", json.dumps({"command": command, "environment": dict(environment or {})}).encode()))
    line.settimeout(SILENCE)
    buffer = b""
    last_received = last_sent = time.monotonic()
    with selectors.DefaultSelector() as watched:
        watched.register(line, selectors.EVENT_READ)
        with contextlib.suppress(PermissionError, ValueError):  # a file is always readable, and can't be watched
            watched.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in watched.select(EVERY / 2)}
            now = time.monotonic()
            try:
                if line in ready:
                    received = line.recv(CHUNK)
                    if not received:
                        return LOST
                    last_received, buffer = now, buffer + received
                    code, buffer = _write_frames(buffer)
                    if code is not None:
                        return code
            except OSError:
                return LOST
            # The other end hangs up behind its last word: what can't be sent is no reason not to read that.
            with contextlib.suppress(OSError):
                if now - last_sent > EVERY:
                    last_sent = now
                    line.sendall(_packed(b"k"))
                if ready - {line}:
                    data = os.read(sys.stdin.fileno(), CHUNK)
                    if not data:
                        watched.unregister(sys.stdin.fileno())
                    line.sendall(_packed(b"i", data))
            if over_network and now - last_received > SILENCE:
                return LOST


def _write_frames(buffer: bytes) -> tuple[int | None, bytes]:
    """Write complete frames to the standard streams. Returns the exit code, if it came, and the rest."""
    while len(buffer) >= _HEAD.size:
        kind, length = _HEAD.unpack_from(buffer)
        if len(buffer) < _HEAD.size + length:
            break
        data, buffer = buffer[_HEAD.size : _HEAD.size + length], buffer[_HEAD.size + length :]
        if kind == b"x":
            return int(data), buffer
        if kind in b"oe":
            _write(1 if kind == b"o" else 2, data)
    return None, buffer


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _words(words: Sequence[str]) -> tuple[str, str]:
    """The host and the command in ssh's words; like ssh's, a command is one line for the shell over there."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if len(option) == 2 and option[1] in _WITH_VALUE and rest:
            rest.pop(0)
    if len(rest) < 2:
        sys.exit("usage: remote [-o OPTION]... HOST COMMAND...")
    return rest[0], " ".join(rest[1:])


def main() -> int:
    host, command = _words(sys.argv[1:])
    try:
        if "/" in host:
            return call(connect(Path(host)), command, os.environ)
        line = socket.create_connection((host, PORT), CONNECTED)
    except OSError as error:
        print(f"connect to host {host} port {PORT}: {error.strerror or error}", file=sys.stderr)
        return LOST
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return call(line, command)


def connect(path: Path) -> socket.socket:
    """A connection to the socket at a path. Raises OSError."""
    return _at(path, socket.socket.connect)


def listen(path: Path) -> socket.socket:
    """Listen at a path. Raises OSError."""
    opened = _at(path, socket.socket.bind)
    opened.listen()
    return opened


def _at(path: Path, what: Callable[[socket.socket, str], None]) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX)
    folder = os.open(path.parent, os.O_PATH)
    try:
        what(opened, f"/proc/self/fd/{folder}/{path.name}")
    except BaseException:
        opened.close()
        raise
    finally:
        os.close(folder)
    return opened


if __name__ == "__main__":
    sys.exit(main())
