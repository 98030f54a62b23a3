"""Limits for connections: half-sent requests are closed or give way, a socket's messages have a largest size, and
clients that don't read are disconnected."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from workshop.server import limits
from workshop.server.limits import MOST_OF_ONE, TooManyRequests, Who

STREAMLIT = "/_stcore/"
LARGEST_OF_STREAMLIT = 4 << 20  # bytes of a message: all that stands in the fields of a page
LARGEST = 64 << 10  # of any other message: four bytes for each of the 16,384 characters that rooms read
UNREAD = 60.0  # seconds in which the other side has to read something of what waits for it


class Unread:
    """The clock of a connection whose client doesn't read. uvicorn waits for such a client without a limit."""

    def __init__(self, transport: asyncio.Transport, seconds: float, waits: Callable[[], bool]) -> None:
        """`waits` tells whether the application waits until more can be written."""
        self._transport, self._seconds, self._waits = transport, seconds, waits
        self._left = math.inf  # bytes that were not read when the clock was last looked at
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Give the other side its time from now on, where anything waits for it."""
        self.stop()
        self._left = self._transport.get_write_buffer_size()
        if self._left:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def went_on(self) -> None:
        """Take note that the other side has read."""
        self._left = math.inf

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        unsent = self._transport.get_write_buffer_size()
        stands = self._waits() or self._transport.is_closing()  # else what is left may be new
        if unsent and stands and unsent >= self._left:
            self._transport.abort()
        elif unsent:
            self._left = unsent if stands else math.inf
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)


class UnreadLimit(asyncio.Protocol):
    """The base of both protocols: a clock runs while the other side doesn't read."""

    UNREAD: ClassVar[float] = UNREAD
    _unread: Unread

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread.begin()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread.went_on()


class Requests(UnreadLimit, H11Protocol):
    """HTTP in which a request's head and body have to come within limits of time. A connection that waits for its
    client gives way to others, as those of `group` do."""

    HEAD: ClassVar[float] = 20.0  # seconds for all of a request's head
    SILENCE: ClassVar[float] = 30.0  # seconds between two parts of its body
    BODY: ClassVar[float] = 900.0  # seconds for all of its body: 64 MB over a slow line
    LEAST: ClassVar[float] = 2000.0  # least bytes a second of a request's body, after SILENCE

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **more: Any) -> None:
        # By `line` the limits tell a connection who uses it.
        super().__init__(config, server_state, {**app_state, "line": self}, **more)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn does
        super().connection_made(transport)
        self._upgraded = False
        self._unread = Unread(transport, self.UNREAD, lambda: self.flow.write_paused)
        self._limit: asyncio.TimerHandle | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._began, self._received = self.loop.time(), 0  # when that began, and the bytes that have come since
        self._waits_for: Any = None  # the part of a request that `_limit` is for, as h11 calls it
        peer = self.client[0] if self.client else ""
        self._through_proxy = self.config.proxy_headers and peer == self.config.forwarded_allow_ips
        self._who = Who(None, "" if self._through_proxy else limits.network(peer))
        self._group: tuple[str, Hashable] | None = ("strangers", self._who.address)
        bounds = limits.shared()
        try:
            bounds.connections.take(self._who)
        except TooManyRequests:
            bounds.waiting.push_out(self._group)
            try:
                bounds.connections.take(self._who)
            except TooManyRequests:  # none of them waits
                self._who = Who(None)
                transport.abort()
                return
        self._watch()

    def used_by(self, who: Who) -> None:
        """Note the visitor of this connection. A visitor with a valid cookie doesn't count for the address."""
        if who.stranger:
            self._group = ("strangers", who.address)
            return
        self._give_back()
        self._group = None if who.identity is None else ("identity", who.identity)  # the instructor never gives way
        limits.shared().waiting.end(self)
        if self._waits_for is not None:
            self._wait()

    def give_way(self) -> None:
        self._give_back()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        limits.shared().waiting.end(self)
        self._give_back()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        if self._through_proxy:  # the next request may be anybody's
            self._group = ("strangers", "")
        super().on_response_complete()
        self._unread.begin()
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._upgraded = True
        self._stop()
        limits.shared().waiting.end(self)
        self._unread.stop()
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
        if part not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._stop()
            limits.shared().waiting.end(self)
            return
        if idle:
            self._stop()
            self._wait()
            return
        if self._waits_for is not part:
            self._stop()
            self._wait()
            self._waits_for, self._began, self._received = part, self.loop.time(), 0
            self._limit = self.loop.call_later(self.HEAD if part is h11.IDLE else self.BODY, self.transport.abort)
        if self._silence is not None:
            self._silence.cancel()
        due = self._began + self.SILENCE + self._received / self.LEAST
        remaining = min(self.SILENCE, max(due - self.loop.time(), 0.0))
        self._silence = self.loop.call_later(remaining, self._was_silent) if part is h11.SEND_BODY else None

    def _wait(self) -> None:
        if self._group is not None:
            most = MOST_OF_ONE if self._group[0] == "identity" else None
            limits.shared().waiting.begin(self, self._group, most)

    def _was_silent(self) -> None:
        # While the application doesn't take what has come, it is not the sender who is silent.
        if self.flow.read_paused:
            self._began = self.loop.time()
            self._silence = self.loop.call_later(self.SILENCE, self._was_silent)
        else:
            self.transport.abort()

    def _stop(self) -> None:
        for timer in (self._limit, self._silence):
            if timer is not None:
                timer.cancel()
        self._limit = self._silence = self._waits_for = None


class Sockets(UnreadLimit, WebSocketsSansIOProtocol):
    """WebSockets that refuse a message by its length, before they read it. A first request that can't be read is
    answered and closed; uvicorn would leave it open for ever."""

    UNREADABLE: ClassVar[bytes] = (
        b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.conn.max_message_size = LARGEST  # also of data before the answer to the request
        self._unread = Unread(self.transport, self.UNREAD, lambda: not self.writable.is_set())

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._unread.begin()

    async def run_asgi(self) -> None:
        await super().run_asgi()
        self._unread.begin()

    def handle_connect(self, event: Any) -> None:
        if event.path.startswith(STREAMLIT):
            self.conn.max_message_size = LARGEST_OF_STREAMLIT
        super().handle_connect(event)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(self.UNREADABLE)
            self.transport.close()
        if self.transport.is_closing():
            self._unread.begin()
