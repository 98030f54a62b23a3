"""How connections are read: requests that stay half-sent are closed, and messages of sockets are bounded by what their
page sends."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from workshop.web import limits
from workshop.web.limits import TooMany, Who

STREAMLIT = "/_stcore/"
LARGEST_OF_STREAMLIT = 4 << 20  # bytes of a message: all that stands in the fields of a page
LARGEST = 64 << 10  # of any other message: four bytes for each of the 16,384 characters that rooms read


class Requests(H11Protocol):
    """HTTP in which a request's head and body have to come within limits of time."""

    HEAD: ClassVar[float] = 20.0  # seconds for all of a request's head
    SILENCE: ClassVar[float] = 30.0  # seconds between two parts of its body
    BODY: ClassVar[float] = 900.0  # seconds for all of its body: 64 MB over a slow line

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._upgraded = False
        self._limit: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._waits_for: Any = None  # the part of a request that `_limit` is for, as h11 calls it
        self._who = Who(None, limits.network(self.client[0] if self.client else ""))
        try:
            limits.shared().connections.take(self._who)
        except TooMany:
            self._who = Who(None)
            transport.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._give_back()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._upgraded = True
        self._stop()
        self._give_back()  # sockets are counted behind the door
        super().handle_websocket_upgrade(event)

    def _give_back(self) -> None:
        limits.shared().connections.give_back(self._who)
        self._who = Who(None)

    def _watch(self) -> None:
        """Set the clocks by what the connection waits for. Between requests uvicorn's own limit holds."""
        if self._upgraded:  # another protocol has the connection
            return
        part = self.conn.their_state
        idle = part is h11.IDLE and self.timeout_keep_alive_task is not None
        if idle or part not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._stop()
            return
        if self._waits_for is not part:
            self._stop()
            self._waits_for = part
            self._limit = self.loop.call_later(self.HEAD if part is h11.IDLE else self.BODY, self.transport.abort)
        if self._silence is not None:
            self._silence.cancel()
        # While the application doesn't take what has come, it is not the sender who is silent.
        self._silence = self.loop.call_later(self.SILENCE, self._was_silent) if part is h11.SEND_BODY else None

    def _was_silent(self) -> None:
        if self.flow.read_paused:
            self._silence = self.loop.call_later(self.SILENCE, self._was_silent)
        else:
            self.transport.abort()

    def _stop(self) -> None:
        for timer in (self._limit, self._silence):
            if timer is not None:
                timer.cancel()
        self._limit = self._silence = self._waits_for = None


class Sockets(WebSocketsSansIOProtocol):
    """WebSockets that refuse a message by its length, before they read it. A first request that can't be read is
    answered and closed; uvicorn would leave it open for ever."""

    UNREADABLE: ClassVar[bytes] = (
        b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.conn.max_message_size = LARGEST  # also of what comes before the request is answered

    def handle_connect(self, event: Any) -> None:
        if event.path.startswith(STREAMLIT):
            self.conn.max_message_size = LARGEST_OF_STREAMLIT
        super().handle_connect(event)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(self.UNREADABLE)
            self.transport.close()
