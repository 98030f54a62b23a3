"""Middleware behind the door that holds everybody to the limits: requests, open pages and uploads."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from limits import RateLimitItem
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from workshop.web import limits, templates
from workshop.web.auth_middleware import OPEN_FOLDERS, client_address
from workshop.web.limits import Shares, TooManyRequests

AT_ONCE = 4  # requests of one person that are served; later ones wait for their turn
CODE_PATHS = ("/join", "/quiz")  # a code is read whatever else comes from its address, see `code_form`
UPLOADS = "/_stcore/upload_file/"  # Streamlit's: /SESSION/FILE
TRY_LATER = 1013  # code of a close: there is too much to do


class LimitMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._sockets = Shares("open live pages", limits.SOCKETS)
        self._turns: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        identity = scope.get("state", {}).get("identity")
        person = limits.person(identity) if identity is not None else None
        try:
            if identity is None and not (scope.get("method") == "POST" and scope["path"] in CODE_PATHS):
                _count(limits.VISITS, client_address(scope), "Your network has")
            elif person is not None:
                _count(limits.REQUESTS, person, "You have")
            if scope["type"] == "websocket":
                self._sockets.take(person)
        except TooManyRequests as error:
            await _refuse(scope, receive, send, str(error))
            return
        if scope["type"] == "websocket":
            try:
                await self.app(scope, receive, send)
            finally:
                self._sockets.give_back(person)
        elif person is None or scope["path"].startswith(OPEN_FOLDERS):
            await self.app(scope, receive, send)
        elif (refusal := _refused_upload(scope, person)) is not None:
            await refusal(scope, receive, send)
        else:
            turns = self._turns.setdefault(person, asyncio.Semaphore(AT_ONCE))
            async with turns:
                await self.app(scope, receive, send)


def _count(item: RateLimitItem, key: int | str, who: str) -> None:
    if not limits.hit(item, key):
        raise TooManyRequests(
            f"{who} sent {item.amount:,} requests within a minute, and no more are read; please wait."
        )


def _refused_upload(scope: Scope, person: int) -> Response | None:
    """The refusal of an upload that tells no length, or is more than a person may send; what follows isn't read."""
    if scope["method"] != "PUT" or not scope["path"].startswith(UPLOADS):
        return None
    headers, closing = Headers(scope=scope), {"connection": "close"}
    length = headers.get("content-length", "")
    # Beside a transfer encoding the length holds nobody to anything.
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit() and len(length) < 16):
        return JSONResponse({"error": "An upload should tell its length, and have no transfer encoding."}, 411, closing)
    if limits.hit(limits.UPLOADS, person, (int(length) >> 20) + 1):
        return None
    error = f"You may upload {limits.UPLOADS.amount} MB within an hour, and this file would be more."
    return JSONResponse({"error": error}, 413, closing)


async def _refuse(scope: Scope, receive: Receive, send: Send, why: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # the request to connect
        await send({"type": "websocket.close", "code": TRY_LATER, "reason": why[:120]})
        return
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    answer: Response = (
        templates.page("plain", 429, title="Please wait", words=why)
        if wants_page
        else JSONResponse({"error": why}, 429)
    )
    answer.headers.update({"retry-after": "10", "cache-control": "no-store"})
    await answer(scope, receive, send)
