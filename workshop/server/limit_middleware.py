"""Middleware behind the door that holds everybody to the limits: requests, open pages and uploads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from workshop.server import plain_pages, request_body
from workshop.server.auth_middleware import OPEN_FOLDERS, STREAM, client_address
from workshop.server.limits import Counts, ServerLimits, TooManyRequests, Who

UPLOADS = "/_stcore/upload_file/"  # Streamlit's: /SESSION/FILE
SMALLEST = 64 << 10  # bytes that a file counts at least: many tiny ones take room, too
TRY_LATER = 1013  # code of a close: there is too much to do
_TO_WAIT = {"retry-after": "2", "cache-control": "no-store"}

CLOSED = 5.0  # seconds after which a page that was closed loses its files: a line that broke is back by then

IsKept = Callable[[str, str], bool]  # whether Streamlit still has the file of a session


class LimitMiddleware:
    def __init__(self, app: ASGIApp, limits: ServerLimits, is_kept: IsKept | None = None) -> None:
        self.app, self.limits = app, limits
        self._uploads = Uploads(limits.uploads, is_kept or kept_by_streamlit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        state, address = scope.get("state", {}), client_address(scope)
        identity = state.get("identity")
        if scope["type"] == "websocket" and identity is not None:
            self.limits.opened_page(identity, address)
        who = self.limits.note(identity, address)
        if (line := state.get("line")) is not None:
            line.used_by(who)
        if scope["type"] == "http" and who.stranger:
            try:  # while a stranger's body is on its way, it takes no place
                receive, complete = await request_body.read_soon(receive)
            except TimeoutError:
                why = f"Your request was not here within {request_body.STRANGERS:.0f} s; please send it again."
                await _refuse(scope, receive, send, why, 408)
                return
            who = replace(who, stranger=complete or identity is None)
        if who.identity is not None and scope["path"].startswith(OPEN_FOLDERS):  # a page asks for many of them at once
            who = replace(who, identity=("assets", who.identity))
        counts = self.limits.requests if scope["type"] == "http" else self.limits.sockets
        try:
            counts.take(who)
        except TooManyRequests as error:
            await _refuse(scope, receive, send, str(error))
            return
        try:
            if scope["type"] == "http" and scope["method"] == "PUT" and scope["path"].startswith(UPLOADS):
                await self._upload(who, scope, receive, send)
            else:
                await self.app(scope, receive, send)
        finally:
            counts.give_back(who)
            if scope["path"] == STREAM:
                asyncio.get_running_loop().call_later(CLOSED, self._uploads.forget_closed)

    async def _upload(self, who: Who, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        # Beside a transfer encoding the length holds nobody to anything.
        if "transfer-encoding" in headers or not (length.isascii() and length.isdigit() and len(length) < 16):
            error = {"error": "An upload should tell its length first, and have no transfer encoding."}
            await JSONResponse(error, 411, {"connection": "close"})(scope, receive, send)
            return
        session, _, file = scope["path"].removeprefix(UPLOADS).partition("/")
        try:
            upload = self._uploads.begin(who, session, file, int(length))
        except TooManyRequests as error:
            # What comes after this is not read: the connection is closed.
            answer = JSONResponse({"error": str(error)}, 413, {**_TO_WAIT, "connection": "close"})
            await answer(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            self._uploads.ended(upload)


@dataclass(frozen=True)
class Upload:
    who: Who
    session: str
    file: str
    size: int


@dataclass
class Uploads:
    """Counts the memory of uploads as long as Streamlit holds them: until a page forgets them or is closed."""

    counts: Counts
    is_kept: IsKept
    _under_way: set[int] = field(default_factory=set)  # ids of uploads
    _all: dict[int, Upload] = field(default_factory=dict)

    def begin(self, who: Who, session: str, file: str, size: int) -> Upload:
        """Raises TooManyRequests where somebody has too much here with this file."""
        self._forget()
        upload = Upload(who, session, file, max(size, SMALLEST))
        self.counts.take(who, upload.size)
        self._all[id(upload)] = upload
        self._under_way.add(id(upload))
        return upload

    def ended(self, upload: Upload) -> None:
        self._under_way.discard(id(upload))
        self._forget()

    def forget_closed(self) -> None:
        """Forget the files of pages that were closed. Streamlit would keep them for another two minutes."""
        drop_closed({upload.session for upload in self._all.values()})
        self._forget()

    def _forget(self) -> None:
        for number, upload in list(self._all.items()):
            if number not in self._under_way and not self.is_kept(upload.session, upload.file):
                del self._all[number]
                self.counts.give_back(upload.who, upload.size)


def drop_closed(sessions: Iterable[str]) -> None:
    """Have Streamlit drop the files of those sessions that have no page."""
    from streamlit.runtime import Runtime

    with suppress(RuntimeError):  # it isn't running
        runtime = Runtime.instance()
        for session in sessions:
            if not runtime.is_active_session(session):
                runtime.uploaded_file_mgr.remove_session_files(session)


def kept_by_streamlit(session: str, file: str) -> bool:
    from streamlit.runtime import Runtime

    with suppress(RuntimeError):  # it isn't running
        storage = Runtime.instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]  # its protocol lacks it
        return file in storage.get(session, {})
    return False


async def _refuse(scope: Scope, receive: Receive, send: Send, why: str, status: int = 429) -> None:
    if scope["type"] == "websocket":
        await receive()  # the request to connect
        await send({"type": "websocket.close", "code": TRY_LATER, "reason": why[:120]})
        return
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    answer: Response = (
        plain_pages.page("Please wait", f"<p>{escape(why)}</p>", status=status)
        if wants_page
        else JSONResponse({"error": why}, status)
    )
    answer.headers.update(_TO_WAIT if status == 429 else {"connection": "close"})
    await answer(scope, receive, send)
