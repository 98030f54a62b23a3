"""The form of a code and a nickname by which somebody comes in: a plain page for phones, without a script. `Join` is
the form of the class, `log_out` the way out. A code is looked at before anything is counted: a right one lets in, only
wrong ones are limited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workshop.core.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME, checked_nickname
from workshop.store.store import Store
from workshop.web import auth, limits, templates
from workshop.web.auth_middleware import exchange, set_cookie
from workshop.web.prefix import base


class CodeForm(ABC):
    """GET shows the form (`?code=` fills it in), POST lets in or says in one sentence why not."""

    template: str
    wrong_code: str  # a sentence for who typed one

    def __init__(self, store: Store, cookie: str) -> None:
        self.store = store
        self.cookie = cookie

    @abstractmethod
    async def find(self, code: str) -> Any:
        """The place that a code opens; None or False for a wrong code."""

    @abstractmethod
    async def let_in(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        """Let somebody in whose code and nickname are right."""

    async def instructor(self, form: Mapping[str, str]) -> Response | None:
        """The answer to an instructor, who needs no code; None for all others."""
        return None

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
            form = await limits.form(request)
        except BadInput as error:
            return self.page(request, str(error), {}, 413)
        if (answer := await self.instructor(form)) is not None:
            return answer
        place = await self.find(form.get("code", ""))
        if not place:
            identity = request.state.identity
            guesser = identity.id if identity is not None else limits.client_address(request.scope)
            if limits.hit(limits.WRONG_CODES, guesser):
                return self.page(request, self.wrong_code, form, 403)
            words = f"{self.wrong_code} Too many wrong codes come from your network; a right one still lets you in."
            return self.page(request, words, form, 429)
        try:
            nickname = checked_nickname(form.get("nickname", ""))
        except BadInput as error:
            return self.page(request, str(error), form, 400)
        return await self.let_in(request, place, nickname, form)

    def secret(self, request: Request) -> str | None:
        """The value of this browser's cookie, valid or not."""
        return request.cookies.get(self.cookie)

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **values: Any) -> Response:
        """The form with the entered values; the nickname is empty at first."""
        return templates.page(
            self.template,
            status,
            wrong=wrong,
            code=str(form.get("code", ""))[:20],
            nickname=str(form.get("nickname", getattr(request.state, "nickname", "")))[:60],
            longest=LONGEST_NICKNAME,
            **values,
        )


WRONG = {
    "token": "That way in for the instructor is not valid any more; use the newest link, or the newest job's button.",
    "ticket": "The dashboard could not let you in from there; open it again.",
    "out": "The instructor has ended your session.",
}  # what the form says to who was sent here, by the reason in the address


class Join(CodeForm):
    """Into the class, or in one sentence why not. A form may bring the instructor's token, where a web server in front
    of the dashboard logs addresses (Open OnDemand's)."""

    template = "join"
    wrong_code = "That is not this class's code; it has 6 letters and digits and is on the instructor's screen."

    async def find(self, code: str) -> bool:
        return await run_in_threadpool(auth.is_class_code, self.store, code)

    async def instructor(self, form: Mapping[str, str]) -> Response | None:
        return await exchange(self.store, self.cookie, "token", form["token"]) if "token" in form else None

    async def let_in(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        former_secret = self.secret(request)
        if not await run_in_threadpool(auth.may_join, self.store, nickname, former_secret):
            wrong = "The instructor has closed the class: only those who were in it come in, with their old nickname."
            return self.page(request, wrong, form, 403)
        _, secret = await run_in_threadpool(auth.let_in, self.store, "learner", nickname, former_secret)
        response = RedirectResponse(local(form.get("next", "")), 303)
        set_cookie(response, self.cookie, secret)
        return response

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **values: Any) -> Response:
        why = request.query_params.get("wrong") if request.method == "GET" else None
        if why in WRONG and (why != "out" or self.secret(request)):  # who logged out has no cookie
            wrong = WRONG[why]
        return super().page(
            request, wrong, form, status, identity=request.state.identity, next=local(form.get("next", ""))
        )


def local(target: str) -> str:
    """A path of this server to go on to; anything that could lead elsewhere becomes the first page."""
    # Browsers take a backslash for a slash, and two of them for the start of a host's name.
    safe = target.isprintable() and target.startswith("/") and not target.startswith(("//", "/\\"))
    return target if safe else "/"


async def log_out(store: Store, cookie: str, request: Request) -> Response:
    """/leave: log out; for the instructor also to log everybody out. It needs no script."""
    identity = request.state.identity
    if identity is None:
        return RedirectResponse("/join", 303)
    if request.method != "POST":
        return templates.page("leave", nickname=identity.nickname, role=identity.role)
    try:
        form = await limits.form(request)
    except BadInput as error:
        return templates.page("plain", 413, title="Log out", words=str(error))
    if form.get("who") != "all":
        await run_in_threadpool(store.log_out, identity.id)
        response: Response = RedirectResponse("/join", 303)
        response.headers["cache-control"] = "no-store"
        response.set_cookie(cookie, max_age=0, path=None)
        return response
    if identity.role != "instructor":
        return templates.page("plain", 403, title="Log out", words="Only the instructor can log everybody out.")
    token, code = await run_in_threadpool(auth.log_everybody_out, store)
    _, secret = await run_in_threadpool(auth.let_in, store, "instructor", identity.nickname)
    response = templates.page("left", address=base(request), token=token, code=code)
    set_cookie(response, cookie, secret)
    return response
