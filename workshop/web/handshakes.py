"""WebSockets whose first request can't be read are answered and closed; uvicorn would leave them open for ever."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_ANSWER = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Handshakes(WebSocketsSansIOProtocol):
    """uvicorn's protocol, which heeds what websockets could not read: a line of a header that is too long, or too
    many lines."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated and not self.transport.is_closing():
            self.transport.write(_ANSWER)
            self.transport.close()
