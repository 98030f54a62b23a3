"""Somebody on the line: what they still have to be sent, and sending it at their own pace."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

DONT_COME_BACK = 4001  # code of a close after which the page doesn't reconnect
MOST_WAITING = 100  # messages; who doesn't take so many isn't there any more
_FIRST = ("state", "you")  # then the others
_OF_A_STATE = ("count", "players")  # who has answered what is open: not to be told after the next state


class Client:
    """One socket. Of what is overtaken by a newer one before it is being sent (`show`) a slow client only gets the
    newest; `tell` is sent always. Nobody waits for it."""

    def __init__(self, websocket: WebSocket, view: str, player: int | None = None) -> None:
        self.websocket = websocket
        self.view = view
        self.player = player
        self.gone = False  # doesn't take what it is sent
        self._shown: dict[str, str] = {}
        self._told: list[str] = []
        self._close: str | None = None
        self._wake = asyncio.Event()

    def show(self, kind: str, text: str) -> None:
        """Send this, in place of what of this kind is not being sent yet."""
        if kind == "state":
            for older in _OF_A_STATE:
                self._shown.pop(older, None)
        self._shown[kind] = text
        self._wake.set()

    def tell(self, **message: Any) -> None:
        if len(self._told) >= MOST_WAITING:
            self.gone = True
            return
        self._told.append(dumps(message))
        self._wake.set()

    def close(self, why: str) -> None:
        """Close the line when what was there before has been sent."""
        self._close = why
        self._wake.set()

    async def send(self) -> None:
        """Until the line is closed, from here or from there."""
        # RuntimeError: Starlette's word for sending after the close.
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._wake.wait()
                self._wake.clear()
                closing = self._close
                messages, self._told = self._told, []
                states, self._shown = self._shown, {}
                # As a whole before anything newer, a part of which could overtake the state that it belongs to.
                kinds = (*_FIRST, *(kind for kind in states if kind not in _FIRST))
                news = [states[kind] for kind in kinds if kind in states]
                for text in (*messages, *news) if closing is None else (*news, *messages):
                    await self.websocket.send_text(text)
                if closing is not None:
                    await self.websocket.close(DONT_COME_BACK, closing)
                    return


def dumps(value: Any) -> str:
    """Compact JSON in ASCII: what people typed may hold half a surrogate pair, which no line carries."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
