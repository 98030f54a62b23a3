"""Connections over a real server: half-sent requests are closed, whole ones are answered, long messages are refused,
and whoever doesn't read is cut off."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support import limit, until
from workshop.core.ports import free_port
from workshop.web.connections import Requests, Sockets
from workshop.web.server import LARGEST_MESSAGE

PATIENCE = 60.0  # seconds
LARGE = 32 << 20  # bytes


class Hasty(Requests):
    HEAD, BODY, READING = 3.0, 3.0, 3.0


class HastySockets(Sockets):
    READING = 3.0


async def length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def lengths(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(str(len(text)))


under_way: list[str] = []  # paths


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    """Far more than the buffers between a server and a client hold."""
    under_way.append(scope["path"])
    try:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for left in reversed(range(LARGE >> 20)):
                await send({"type": "http.response.body", "body": b"a" * (1 << 20), "more_body": left > 0})
        else:
            socket = WebSocket(scope, receive, send)
            await socket.accept()
            for _ in range(LARGE >> 20):
                await socket.send_bytes(b"a" * (1 << 20))
    finally:
        under_way.remove(scope["path"])


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    app = Starlette(
        routes=[
            Route("/", length, methods=["GET", "POST"]),
            WebSocketRoute("/live", lengths),
            Mount("/large", large),
        ]
    )
    free = free_port()
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=free,
            log_level="error",
            lifespan="off",
            http=Hasty,
            ws=HastySockets,
            timeout_graceful_shutdown=1,
            ws_max_size=LARGEST_MESSAGE,
        )
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, 60, "the server")
        yield free
    finally:
        server.should_exit = True
        thread.join(limit(20))
    assert not thread.is_alive()


def begun(port: int, text: bytes) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), PATIENCE)
    line.sendall(text)
    return line


def answer(line: socket.socket) -> bytes:
    """A whole answer, whose body is one byte long."""
    told = line.recv(1000)
    while told.endswith(b"\r\n\r\n") or b"\r\n\r\n" not in told:
        told += line.recv(1000)
    return told


def closed(line: socket.socket) -> bool:
    """Whether the server closes a connection without a word, within PATIENCE."""
    try:
        return line.recv(1000) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "half",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_a_half_sent_request_is_closed(port: int, half: bytes) -> None:
    with begun(port, half) as line:
        assert closed(line)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1\r\nX: ", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n"])
def test_a_request_that_comes_drop_by_drop_is_closed(port: int, head: bytes) -> None:
    with begun(port, head) as line:
        line.settimeout(0.2)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                line.sendall(b"a")
                if line.recv(1000) == b"":
                    return
            except TimeoutError:
                continue
            except (ConnectionResetError, BrokenPipeError):
                return
        raise AssertionError("it is still open")


def test_a_second_request_on_a_line_has_the_same_limits(port: int) -> None:
    with begun(port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc") as line:
        assert answer(line).endswith(b"3")
        line.sendall(b"GET / HT")
        assert closed(line)


def test_a_slow_and_whole_request_is_answered(port: int) -> None:
    with begun(port, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n") as line:
        for letter in b"abc":
            time.sleep(0.3)
            line.sendall(bytes([letter]))
        assert answer(line).endswith(b"3")


def test_long_messages_are_refused_by_their_length(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/live", max_size=None) as line:
        line.send("a" * LARGEST_MESSAGE)
        assert line.recv(timeout=PATIENCE) == str(LARGEST_MESSAGE)
        with pytest.raises(ConnectionClosed) as error:
            line.send("a" * (LARGEST_MESSAGE + 1))
            line.recv(timeout=PATIENCE)
        assert error.value.rcvd is None or error.value.rcvd.code == 1009


def test_a_socket_that_is_silent_stays_open(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/live") as line:
        time.sleep(Hasty.HEAD + Hasty.BODY)
        line.send("abc")
        assert line.recv(timeout=PATIENCE) == "3"


def test_a_message_is_refused_before_it_is_sent_whole(port: int) -> None:
    with connect(f"ws://127.0.0.1:{port}/live") as line:
        line.socket.sendall(b"\x81\xff" + (80 << 20).to_bytes(8, "big") + b"mask")  # 80 MB of text follow, it says
        with pytest.raises(ConnectionClosed) as error:
            line.recv(timeout=PATIENCE)
        assert error.value.rcvd is not None and error.value.rcvd.code == 1009


UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + b"a" * 22


@pytest.mark.parametrize("more", [b"", UPGRADE + b"==\r\n"])
def test_who_reads_nothing_is_cut_off(port: int, more: bytes) -> None:
    with begun(port, b"GET /large/ HTTP/1.1\r\nHost: a\r\n" + more + b"\r\n"):
        until(lambda: under_way, PATIENCE, "the request")
        until(lambda: not under_way, PATIENCE, "the end of what nobody reads")


def test_who_reads_slowly_gets_all(port: int) -> None:
    got = 0
    with begun(port, b"GET /large/ HTTP/1.1\r\nHost: a\r\n\r\n") as line:
        while got < LARGE and (some := line.recv(LARGE >> 4)):
            got += len(some)
            time.sleep(0.1 if got < LARGE >> 1 else 0)
    assert got >= LARGE
