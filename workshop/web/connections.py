"""What uvicorn has no setting for: a request has to come in time, and who reads too slowly is disconnected. What isn't
sent yet stays small, because more is written only when the last piece has been taken."""

from __future__ import annotations

import asyncio
import math
import socket
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

UNSENT = 128 << 10  # bytes of a connection that the system keeps for a reader; by default up to 4 MB


class ReadLimit(asyncio.Protocol):
    """The base of both protocols: it disconnects who reads less than `LEAST` bytes of what waits in `READING`."""

    READING: ClassVar[float] = 60.0  # seconds
    LEAST: ClassVar[int] = 60_000
    transport: asyncio.Transport
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)
        self.transport.set_write_buffer_limits(high=0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_reading()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look(math.inf)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reading()

    def _look(self, unsent_before: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent > unsent_before - self.LEAST:
            self.transport.abort()
        else:
            self._reading = asyncio.get_running_loop().call_later(self.READING, self._look, unsent)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class Requests(ReadLimit, H11Protocol):
    """HTTP in which a request has to come in time. Between two requests uvicorn's own limit holds."""

    HEAD: ClassVar[float] = 20.0  # seconds for a request's head
    BODY: ClassVar[float] = 30.0  # seconds for its body, and one more for so many bytes:
    LEAST_A_SECOND: ClassVar[int] = 2000
    _deadline: asyncio.TimerHandle | None = None
    _part: Any = None  # of a request, as h11 calls it, for which the deadline is
    _received = 0  # bytes of it

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._watch(0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch(len(data))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch(0)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_deadline()
        self._stop_reading()
        super().handle_websocket_upgrade(event)

    def _watch(self, received: int) -> None:
        part = self.conn.their_state
        between = part is h11.IDLE and self.timeout_keep_alive_task is not None
        if between or part not in (h11.IDLE, h11.SEND_BODY) or self.transport.get_protocol() is not self:
            self._stop_deadline()
        elif part is not self._part:
            self._stop_deadline()
            self._part, self._began, self._received = part, self.loop.time(), 0
            self._deadline = self.loop.call_later(self.HEAD if part is h11.IDLE else self.BODY, self._end_if_late)
        else:
            self._received += received

    def _end_if_late(self) -> None:
        due = self._began + (0.0 if self._part is h11.IDLE else self.BODY + self._received / self.LEAST_A_SECOND)
        if self.flow.read_paused:  # the sender waits for the application
            due = self.loop.time() + self.BODY
        if due > self.loop.time():
            self._deadline = self.loop.call_at(due, self._end_if_late)
        else:
            self.transport.abort()

    def _stop_deadline(self) -> None:
        self._part = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Sockets(ReadLimit, WebSocketsSansIOProtocol):
    """WebSockets. A first request that can't be read is answered and closed; uvicorn would leave it open for ever."""

    UNREADABLE: ClassVar[bytes] = (
        b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(self.UNREADABLE)
            self.transport.close()
