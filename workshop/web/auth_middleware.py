"""The authentication middleware, in front of everything, Streamlit's WebSocket included.

Pure ASGI, so that it also sees WebSockets and passes streams on untouched. A visitor with a valid cookie passes, and
pages read the identity from a header that only this middleware can set; other visitors are sent to /join. It remembers
who is in (`Visitors`), and closes the WebSockets of visitors who are logged out. Pages only note in memory who is here
and what they did last (`Presence`); the watcher of open lines writes the notes of all visitors together.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workshop.core.errors import WorkshopError
from workshop.store.identities import STAY
from workshop.store.records import Attendance, Identity
from workshop.store.store import Store
from workshop.store.tables import INSTRUCTOR
from workshop.web import auth
from workshop.web.address import OWNER_HEADER

LOOK = 1.0  # seconds between looks at whether somebody was logged out, by this process or another one
LOOKUP = 600.0  # seconds after which everybody is looked up again: cookies end by themselves, too
OUT = 4001  # code of a close after which the pages of quizzes don't come back by themselves
IDENTITY_HEADER = "x-workshop-identity"  # to pages: the hash of the visitor's cookie
HUB_LOGIN = "/oauth_login"
OPEN_PATHS = (
    *("/join", "/accessibility", "/leave", "/quiz", "/favicon.ico", "/_stcore/health"),
    *(HUB_LOGIN, "/oauth_callback"),
)
OPEN_FOLDERS = ("/assets/", "/static/")  # scripts, fonts and styles: nothing there is anybody's secret
PLAYERS_FOLDER = "/quiz/"  # all that somebody sees who came in by the code of a quiz
# Where pages may be shown in a frame: the door adds JupyterLab's origin to this part of a policy.
FRAMES = "frame-ancestors 'self'"
POLICY = "content-security-policy"
# What is exchanged for a cookie in the address of the front page, how to tell whether it is worth something, and which
# page it leads to: the instructor's token, or a ticket.
SECRETS = {
    "token": (auth.is_instructor_token, "/"),
    "ticket": (lambda store, ticket: store.take_ticket(auth.hashed(ticket)), "/session"),
}
UNKEPT = {"cache-control": "no-store"}  # neither an address with a secret nor the cookie
_ROUND = re.compile(r"/quiz/[0-9]+")


class Visitors:
    """Belongs to the event loop. `key` is the hash of a cookie's secret."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Identity] = {}
        self._changes: str | None = None
        self._looked_at = self._found_at = -LOOKUP
        self._lines: dict[asyncio.Task[None], str] = {}  # of WebSockets that are open
        self._out: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None

    async def identity(self, key: str) -> Identity | None:
        """The identity that is logged in with this cookie."""
        await self._look()
        if key not in self._known:
            known_identity = await run_in_threadpool(self.store.identity, key)
            if known_identity is None:
                return None
            self._known[key] = known_identity
        return self._known[key]

    async def serve_while_in(self, key: str, line: Coroutine[Any, Any, None], send: Send) -> None:
        """Serve a WebSocket (`line`) until it ends, or until its visitor is logged out, which closes it."""
        task = asyncio.create_task(line)
        self._lines[task] = key
        if self._watcher is None or self._watcher.done():
            self._watcher = asyncio.create_task(self._watch(), name="who is still in")
        try:
            await task
        except asyncio.CancelledError:
            if task not in self._out:
                raise
        finally:
            del self._lines[task]
            if task in self._out:
                self._out.remove(task)
                with suppress(Exception):  # where it was closed already
                    await send({"type": "websocket.close", "code": OUT, "reason": "You are logged out; come in again."})

    async def _watch(self) -> None:
        while self._lines:
            await asyncio.sleep(LOOK)
            await self._look()
            lines = self._lines.values()
            visitors = {identity.id for key in lines if (identity := self._known.get(key)) is not None}
            with suppress(WorkshopError):  # a later look writes it
                await run_in_threadpool(PRESENCE.write, self.store, visitors, time.time())

    async def _look(self) -> None:
        """Forget whom the store does not know as being in any more, and end their lines."""
        now = time.monotonic()
        if now - self._looked_at < LOOK:
            return
        self._looked_at = now
        with suppress(WorkshopError):  # a database that is busy for a moment
            changes = await run_in_threadpool(self.store.changes)
            if changes == self._changes and now - self._found_at < LOOKUP:
                return
            keys = {*self._known, *self._lines.values()}
            valid = await run_in_threadpool(self.store.valid_tokens, keys)
            self._changes, self._found_at = changes, now
            for key in keys - valid:
                self._known.pop(key, None)
            for task, key in self._lines.items():
                if key in keys - valid:
                    self._out.add(task)
                    task.cancel()


def cookie_name(port: int) -> str:
    """Browsers send cookies to every port of a host, so each dashboard has its own."""
    return f"workshop_{port}"


class AuthMiddleware:
    def __init__(
        self, app: ASGIApp, store: Store, port: int, framed_by: str = "", owner: str = "", login_page: str = "/join"
    ) -> None:
        """`framed_by` are the origins, separated by spaces, whose pages may show the dashboard in a frame. A visitor
        with the secret `owner` in OWNER_HEADER is the instructor; with "" nobody is. Other visitors are sent to the
        page `login_page`."""
        self.app = app
        self.store = store
        self.cookie = cookie_name(port)
        self._owner, self._login_page = owner.encode(), login_page
        self._frames = " ".join([FRAMES, *framed_by.split()])
        self.visitors = Visitors(store)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        writes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if writes and not same_origin(headers):
            await refuse(scope, receive, send, "This request comes from another site.")
            return
        if scope["type"] == "http":
            send = _with_security_headers(send, self._frames)
            if (secret_in_address := _secret_in_address(scope)) is not None:
                await (await exchange(self.store, self.cookie, *secret_in_address))(scope, receive, send)
                return
        secret = HTTPConnection(scope).cookies.get(self.cookie)
        identity = await self.visitors.identity(auth.hashed(secret)) if secret else None
        if not _may_see(identity, scope["path"]):
            if scope["type"] == "http" and scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
                if self._owner and hmac.compare_digest(headers.get(OWNER_HEADER, "").encode(), self._owner):
                    here = scope["path"] == "/"  # a cookie holds for the folder of the page that sets it
                    answer = (
                        await let_in_instructor(self.store, self.cookie, "/") if here else RedirectResponse("/", 303)
                    )
                    await answer(scope, receive, send)
                    return
                await RedirectResponse(_way_in(scope, self._login_page), 303)(scope, receive, send)
            else:
                await refuse(scope, receive, send, "Join the class first, at /join.")
            return
        marked = self._marked(scope, secret, identity)

        async def serve() -> None:
            await self.app(marked, receive, send)

        if scope["type"] == "websocket" and secret and identity is not None:
            await self.visitors.serve_while_in(auth.hashed(secret), serve(), send)
        else:
            with suppress(ClientDisconnect):  # who goes before all was sent: nobody is left to be told, nothing broke
                await serve()

    def _marked(self, scope: Scope, secret: str | None, identity: Identity | None) -> Scope:
        """The scope with the visitor's identity, without a header of that name that came from outside."""
        name = IDENTITY_HEADER.encode()
        headers = [pair for pair in scope["headers"] if pair[0].lower() != name]
        if identity is not None and secret:
            headers.append((name, auth.hashed(secret).encode()))
        return {**scope, "headers": headers, "state": {**scope.get("state", {}), "identity": identity}}


async def exchange(store: Store, cookie: str, kind: str, secret: str) -> Response:
    """A token or a ticket for a cookie; the address that the browser shows and remembers afterwards has neither.

    Nobody has to wait here: 192 bits can't be guessed, and others' wrong codes must not keep the instructor out.
    """
    good, page = SECRETS[kind]
    if not await run_in_threadpool(good, store, secret):
        return RedirectResponse("/join?" + urlencode({"wrong": kind}), 303, UNKEPT)
    return await let_in_instructor(store, cookie, page)


async def let_in_instructor(store: Store, cookie: str, page: str) -> Response:
    """Let the instructor in, and lead to a page; `cookie` is the cookie's name."""
    _, secret = await run_in_threadpool(auth.let_in, store, "instructor", INSTRUCTOR)
    response = RedirectResponse(page, 303, UNKEPT)
    set_cookie(response, cookie, secret)
    return response


async def refuse(
    scope: Scope, receive: Receive, send: Send, why: str, answer: Response | None = None, code: int = 1008
) -> None:
    """Refuse a request with an answer (default: 403 with the reason), or close a WebSocket with a code."""
    if scope["type"] == "http":
        await (answer or JSONResponse({"error": why}, 403))(scope, receive, send)
        return
    await receive()  # the request to connect
    await send({"type": "websocket.close", "code": code, "reason": why})


def set_cookie(response: Response, name: str, value: str) -> None:
    response.headers["cache-control"] = "no-store"
    response.set_cookie(
        name, value, max_age=int(STAY), httponly=True, samesite="lax", path=None
    )  # of this folder, see `prefix`


def same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of ours, or from no page at all. Browsers always tell the origin of a
    WebSocket and of a form; programs that don't must bring a cookie just the same."""
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _secret_in_address(scope: Scope) -> tuple[str, str] | None:
    """The kind of the secret in the front page's address, and the secret."""
    if scope["path"] != "/" or not scope["query_string"]:
        return None
    query = parse_qs(scope["query_string"].decode("latin-1"))
    return next(((kind, query[kind][0]) for kind in SECRETS if kind in query), None)


def _with_security_headers(send: Send, frames: str) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = dict(message)
            headers = MutableHeaders(scope=message)
            headers.setdefault("x-content-type-options", "nosniff")
            headers.setdefault("referrer-policy", "same-origin")
            headers[POLICY] = headers.get(POLICY, FRAMES).replace(FRAMES, frames)
        await send(message)

    return wrapped


def _may_see(identity: Identity | None, path: str) -> bool:
    if identity is None or (identity.role == "player" and not path.startswith(PLAYERS_FOLDER)):
        return path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)
    return True


def _way_in(scope: Scope, login_page: str = "/join") -> str:
    """Where somebody comes in who may not see a page: by the class's code, or into a round by its own."""
    if _ROUND.fullmatch(scope["path"]):
        return "/quiz"
    target = scope["path"].encode(errors="replace")
    if scope["query_string"]:
        target += b"?" + scope["query_string"]  # any bytes: programs send more than browsers do
    return login_page if target == b"/" else f"{login_page}?next={quote(target, safe='')}"


WRITE_EVERY = 20.0  # seconds between writes for the same identity
PRESENT = 60.0  # seconds without an open page after which somebody counts as gone


class Presence:
    """The presence of all visitors of this process; any thread may use it."""

    def __init__(self) -> None:
        self._pages: dict[int, str] = {}  # of identities
        self._parts: dict[int, str] = {}  # of these pages, where one has several
        self._actions: dict[int, tuple[str, float]] = {}  # that are not written yet
        self._written: dict[int, float] = {}

    def act(self, identity: Identity, action: str) -> None:
        """Note the last action of a visitor, in words that follow their name."""
        self._actions[identity.id] = action, time.time()

    def visit(self, identity: Identity, title: str) -> None:
        """Note that a visitor draws a page; a page that is only drawn again is no action."""
        if self._pages.get(identity.id) != title:
            self._pages[identity.id] = title
            self._parts.pop(identity.id, None)
            self.act(identity, f"opened the page {title}")

    def turn(self, identity: Identity, part: str) -> None:
        """Note which part of the page a visitor reads, such as a section of a lab; this is no action."""
        self._parts[identity.id] = part

    def page(self, identity: Identity) -> str:
        """The title and the part of the page that a visitor drew last; "" where it isn't known."""
        return ", ".join(filter(None, (self._pages.get(identity.id), self._parts.get(identity.id))))

    def write(self, store: Store, visitors: Iterable[int], now: float) -> None:
        """Write the presence and the actions of those visitors for whom nothing was written lately."""
        due = {number for number in visitors if now - self._written.get(number, 0.0) >= WRITE_EVERY}
        if not due:
            return
        actions = {number: self._actions.pop(number) for number in due & self._actions.keys()}
        self._written |= dict.fromkeys(due, now)
        store.keep_presence(due, now, actions)


PRESENCE = Presence()  # in this process's server


def is_present(attendance: Attendance, now: float) -> bool:
    """Whether a page of a learner is open."""
    return attendance.seen_at is not None and now - attendance.seen_at < PRESENT
