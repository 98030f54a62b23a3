"""The form of a code and a nickname by which somebody comes in. A plain page, made for phones; it needs no script."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workshop.errors import BadInput
from workshop.web import auth, plain, sent
from workshop.web.door import client_address

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
class Words:
    """What stands on the page of a form."""

    title: str
    heading: str
    welcome: str
    action: str  # the path of the form
    label: str  # of the code
    button: str
    wrong_code: str  # a sentence for who typed one


class CodeForm(ABC):
    """GET shows the form (`?code=` fills it in), POST lets in or says in one sentence why not."""

    words: Words

    def __init__(self, cookie: str, attempts: auth.Attempts) -> None:
        self.cookie = cookie
        self.attempts = attempts

    @abstractmethod
    async def find(self, code: str) -> Any:
        """What a code opens; None or False: nothing."""

    @abstractmethod
    async def let_in(self, request: Request, found: Any, nickname: str, given: Mapping[str, str]) -> Response:
        """Go on with somebody whose code and nickname are right."""

    async def respond(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        return self.page(request, "", request.query_params)

    async def _enter(self, request: Request) -> Response:
        try:
            given = await sent.form(request)
        except sent.TooMuch:
            return self.page(request, "That is far too much for a code and a nickname.", {}, 413)
        address = client_address(request.scope)
        if wait := self.attempts.wait(address):
            words = f"Too many wrong codes came from your network just now; please try again in {math.ceil(wait)} s."
            return self.page(request, words, given, 429)
        found = await self.find(given.get("code", ""))
        if not found:
            self.attempts.wrong(address)
            return self.page(request, self.words.wrong_code, given, 403)
        try:
            nickname = auth.checked_nickname(given.get("nickname", ""))
        except BadInput as error:
            return self.page(request, str(error), given, 400)
        return await self.let_in(request, found, nickname, given)

    def page(
        self,
        request: Request,
        wrong: str,
        given: Mapping[str, str],
        status: int = 200,
        *,
        nickname: str = "",
        hidden: str = "",
        below: str = "",
    ) -> Response:
        """The form with what was given; `nickname` where none was. `hidden` and `below` are HTML."""
        code = str(given.get("code", ""))[:20]
        body = FORM.format(
            **asdict(self.words),
            wrong=f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else "",
            hidden=hidden,
            code=escape(code),
            nickname=escape(str(given.get("nickname", nickname))[:60]),
            longest=auth.LONGEST_NICKNAME,
            focus_code="" if code else " autofocus",
            focus_nickname=" autofocus" if code else "",
            below=below,
        )
        return plain.page(self.words.title, body, heading=self.words.heading, status=status)
