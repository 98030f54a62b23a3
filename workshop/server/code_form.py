"""The form of a code and a nickname by which somebody comes in: a plain page for phones, without a script. `Join` is
the form of the class; `Attempts` limits how often people may try a code."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workshop.core.errors import BadInput
from workshop.server import auth, limits, plain_pages, request_body
from workshop.server.auth_middleware import client_address, set_cookie
from workshop.server.logout import LOG_OUT
from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.nicknames import checked_nickname
from workshop.store.store import Store

AT_ONCE = 20  # codes of one address that are looked at, or were wrong a moment ago
# A wrong code keeps its turn for so many seconds: 20 guesses a second against a billion codes, about a one in two
# thousand chance in eight hours.
FIRST_PAUSE = 1.0
# Seconds that a code waits for its turn: two thousand who join a round at once all get theirs.
LONGEST_TURN = 30.0
FORM = """<p>{welcome}</p>
{wrong}
<form method="post" action="{action}">
{hidden}<label>{label}
<input name="code" value="{code}" required maxlength="20" autocomplete="off" autocapitalize="characters"
 spellcheck="false"{focus_code}></label>
<label>Nickname
<input name="nickname" value="{nickname}" required maxlength="{longest}"
 autocomplete="nickname"{focus_nickname}></label>
<button type="submit">{button}</button>
</form>
{below}"""


class TooManyAttempts(Exception):
    """So many codes of an address wait that this one was not looked at."""


@dataclass
class LoginTurn:
    """One check of a code. The caller sets `right`; `waited` says that as many attempts as allowed came before it."""

    waited: bool
    right: bool = False


class Attempts:
    """Turns by address, taken before a code is looked at. Right ones are given back at once, so that a whole class
    comes in from behind one address; wrong ones are kept a while, so that others wait, and only the wrong are told so.
    Belongs to the event loop."""

    def __init__(self, at_once: int = AT_ONCE, pause: float = FIRST_PAUSE, longest: float = LONGEST_TURN) -> None:
        self.at_once, self.kept, self.longest = at_once, pause, longest
        self._turns: dict[str, tuple[asyncio.Semaphore, int]] = {}  # and how many hold or wait for one

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[LoginTurn]:
        """Look at a code within the block. Raises TooManyAttempts where its turn doesn't come in time."""
        turns, users = self._turns.get(address, (asyncio.Semaphore(self.at_once), 0))
        self._turns[address] = turns, users + 1
        waited = users >= self.at_once
        try:
            await asyncio.wait_for(turns.acquire(), self.longest)
        except BaseException as error:
            self._forget(address)
            if isinstance(error, TimeoutError):
                raise TooManyAttempts from None
            raise
        turn = LoginTurn(waited)
        try:
            yield turn
        finally:
            if turn.right:
                self._give_back(address)
            else:
                asyncio.get_running_loop().call_later(self.kept, self._give_back, address)

    def _give_back(self, address: str) -> None:
        self._turns[address][0].release()
        self._forget(address)

    def _forget(self, address: str) -> None:
        """One less uses an address's turns; nothing is kept of an address that nobody uses."""
        turns, users = self._turns.pop(address)
        if users > 1:
            self._turns[address] = turns, users - 1


@dataclass(frozen=True)
class FormWords:
    """The words of a form's page."""

    title: str
    heading: str
    welcome: str
    action: str  # the path of the form
    label: str  # of the code
    button: str
    wrong_code: str  # a sentence for who typed one


class CodeForm(ABC):
    """GET shows the form (`?code=` fills it in), POST lets in or says in one sentence why not."""

    words: FormWords

    def __init__(self, store: Store, cookie: str, attempts: Attempts) -> None:
        self.store = store
        self.cookie = cookie
        self.attempts = attempts
        self._order = Attempts(at_once=1)  # of those who join

    @abstractmethod
    async def find(self, code: str) -> Any:
        """The place that a code opens; None or False for a wrong code."""

    @abstractmethod
    async def let_in(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        """Let somebody in whose code and nickname are right."""

    def makes_name(self, request: Request) -> bool:
        """Whether somebody who is let in may get a new name."""
        return True

    async def respond(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        if request.state.identity is None and (secret := self.secret(request)):
            former = await run_in_threadpool(self.store.former_identity, auth.hashed(secret))
            if former is not None and former.role != "instructor":
                request.state.nickname = former.nickname  # under which they come in again as who they were
        return self.page(request, "", request.query_params)

    async def _enter(self, request: Request) -> Response:
        try:
            form = await request_body.form(request)
        except request_body.TooMuch:
            return self.page(request, "That is far too much for a code and a nickname.", {}, 413)
        try:
            async with self.attempts.turn(client_address(request.scope)) as turn:
                place = await self.find(form.get("code", ""))
                turn.right = bool(place)
        except TooManyAttempts:
            words = "Too many wrong codes come from your network now, so yours was not read; please try again."
            return self.page(request, words, form, 429)
        if not place and turn.waited:
            words = f"{self.words.wrong_code} Many codes come from your network now, so they are read slowly."
            return self.page(request, words, form, 429)
        if not place:
            return self.page(request, self.words.wrong_code, form, 403)
        try:
            nickname = checked_nickname(form.get("nickname", ""))
        except BadInput as error:
            return self.page(request, str(error), form, 400)
        return await self._join(request, place, nickname, form)

    async def _join(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        """Let in as many new names as an address may have, in the order in which they come. A name counts as new if it
        comes with a new cookie; all other answers cost nothing."""
        if not self.makes_name(request):
            return await self.let_in(request, place, nickname, form)
        joins, address = limits.shared().joins, client_address(request.scope)
        wait = 1.0
        try:
            async with self._order.turn(address) as turn:
                turn.right = True
                if turn.waited and await request.is_disconnected():
                    return Response(status_code=408)  # who has gone takes nothing from those who wait
                while wait := joins.wait(address):
                    if wait > LONGEST_TURN:
                        raise TooManyAttempts
                    await asyncio.sleep(wait)
        except TooManyAttempts:
            page = self.page(request, limits.later(wait), form, 429)
            page.headers["retry-after"] = str(int(wait) + 1)
            return page
        joined = False
        try:
            response = await self.let_in(request, place, nickname, form)
            joined = "set-cookie" in response.headers
            return response
        finally:
            if not joined:
                joins.give_back(address)

    def secret(self, request: Request) -> str | None:
        """The value of this browser's cookie, valid or not."""
        return request.cookies.get(self.cookie)

    def page(
        self,
        request: Request,
        wrong: str,
        form: Mapping[str, str],
        status: int = 200,
        *,
        nickname: str = "",
        hidden: str = "",
        below: str = "",
    ) -> Response:
        """The form with the entered values; `nickname` is empty at first. `hidden` and `below` are HTML."""
        code = str(form.get("code", ""))[:20]
        nickname = nickname or getattr(request.state, "nickname", "")
        body = FORM.format(
            **asdict(self.words),
            wrong=f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else "",
            hidden=hidden,
            code=escape(code),
            nickname=escape(str(form.get("nickname", nickname))[:60]),
            longest=LONGEST_NICKNAME,
            focus_code="" if code else " autofocus",
            focus_nickname=" autofocus" if code else "",
            below=below,
        )
        return plain_pages.page(self.words.title, body, heading=self.words.heading, status=status)


class Join(CodeForm):
    """Into the class, or in one sentence why not."""

    words = FormWords(
        title="Join the workshop",
        heading="Distributed Training Workshop",
        welcome="Real MPI ranks on a real machine, shared by this class. Come in with the code your instructor shows.",
        action="/join",
        label="Class code",
        button="Come in",
        wrong_code="That is not this class's code; it has 6 letters and digits and is on the instructor's screen.",
    )

    async def find(self, code: str) -> bool:
        return await run_in_threadpool(auth.is_class_code, self.store, code)

    async def let_in(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        identity, secret = await run_in_threadpool(auth.let_in, self.store, "learner", nickname, self.secret(request))
        limits.shared().same_person(identity, request.state.identity, self.secret(request))
        oldest = limits.shared().joined(identity, client_address(request.scope))
        if oldest is not None:
            await run_in_threadpool(self.store.remove_identity, oldest)
        response = RedirectResponse(local(form.get("next", "")), 303)
        set_cookie(response, self.cookie, secret)
        return response

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **more: str) -> Response:
        if request.method == "GET" and "wrong" in request.query_params:
            wrong = (
                "The dashboard could not let you in from there; open it again."
                if request.query_params["wrong"] == "ticket"
                else "That instructor link is not valid any more; use the newest one."
            )
        identity, where = request.state.identity, escape(local(form.get("next", "")))
        if identity is not None:
            name = escape(identity.nickname)
            more["below"] = f'<p class="here">You are in as {name}: <a href="{where}">go on</a>, or {LOG_OUT}</p>'
        more["hidden"] = f'<input type="hidden" name="next" value="{where}">\n'
        return super().page(request, wrong, form, status, **more)


def local(target: str) -> str:
    """A path of this server to go on to; anything that could lead elsewhere becomes the first page."""
    # Browsers take a backslash for a slash, and two of them for the start of a host's name.
    safe = target.isprintable() and target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if safe else "/"
