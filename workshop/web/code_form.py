"""The form of a code and a nickname by which somebody comes in: a plain page for phones, without a script. `Join` is
the form of the class. A code is looked at before anything is counted: a right one lets in, only wrong ones are
limited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workshop.core.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.nicknames import checked_nickname
from workshop.store.store import Store
from workshop.web import auth, limits, plain_pages, request_body
from workshop.web.auth_middleware import client_address, set_cookie
from workshop.web.logout import LOG_OUT

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

    def __init__(self, store: Store, cookie: str) -> None:
        self.store = store
        self.cookie = cookie

    @abstractmethod
    async def find(self, code: str) -> Any:
        """The place that a code opens; None or False for a wrong code."""

    @abstractmethod
    async def let_in(self, request: Request, place: Any, nickname: str, form: Mapping[str, str]) -> Response:
        """Let somebody in whose code and nickname are right."""

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
        place = await self.find(form.get("code", ""))
        if not place:
            identity = request.state.identity
            guesser = identity.id if identity is not None else client_address(request.scope)
            if limits.hit(limits.WRONG_CODES, guesser):
                return self.page(request, self.words.wrong_code, form, 403)
            words = (
                f"{self.words.wrong_code} Too many wrong codes come from your network; a right one still lets you in."
            )
            return self.page(request, words, form, 429)
        try:
            nickname = checked_nickname(form.get("nickname", ""))
        except BadInput as error:
            return self.page(request, str(error), form, 400)
        return await self.let_in(request, place, nickname, form)

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
        former_secret = self.secret(request)
        if not await run_in_threadpool(auth.may_join, self.store, nickname, former_secret):
            wrong = "The instructor has closed the class: only those who were in it come in, with their old nickname."
            return self.page(request, wrong, form, 403)
        _, secret = await run_in_threadpool(auth.let_in, self.store, "learner", nickname, former_secret)
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
