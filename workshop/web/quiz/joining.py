"""/quiz: a round's code and a nickname. A plain page, made for phones; it needs no script."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from workshop.errors import BadInput
from workshop.store.records import QuizPlayer
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.door import client_address, set_cookie
from workshop.web.join import LARGEST_FORM, POLICY
from workshop.web.quiz.rooms import Rooms

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Join a quiz</title>
<link rel="icon" href="/assets/mark.svg">
<link rel="stylesheet" href="/assets/join.css">
</head>
<body>
<main>
<header><img src="/assets/mark.svg" alt=""><h1>Join a quiz</h1></header>
<p>Come in with the code on the projector. Others see your nickname in the ranking.</p>
{wrong}
<form method="post" action="/quiz">
<label>Quiz code
<input name="code" value="{code}" required maxlength="20" autocomplete="off" autocapitalize="characters"
 spellcheck="false"{focus_code}></label>
<label>Nickname
<input name="nickname" value="{nickname}" required maxlength="{longest}" autocomplete="nickname"
{focus_nickname}></label>
<button type="submit">Join</button>
</form>
</main>
</body>
</html>
"""


class Joining:
    """GET shows the form (`?code=` fills it in), POST lets in or says in one sentence why not."""

    def __init__(self, store: Store, rooms: Rooms, cookie: str, attempts: auth.Attempts) -> None:
        self.store, self.rooms, self.cookie, self.attempts = store, rooms, cookie, attempts

    async def respond(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        return self._page(request, "", request.query_params)

    async def _enter(self, request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM * 8:  # a nickname of 10,000 characters is told that it is too long
                return self._page(request, "That is far too much for a code and a nickname.", {}, 413)
        given = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        address = client_address(request.scope)
        if wait := self.attempts.wait(address):
            words = f"Too many wrong codes came from your network just now; please try again in {math.ceil(wait)} s."
            return self._page(request, words, given, 429)
        code = "".join(given.get("code", "").split()).upper()[:20]
        found = await run_in_threadpool(self.store.round_by_code, code) if code else None
        if found is None:
            self.attempts.wrong(address)
            words = "No quiz that goes on has this code; it has 6 letters and digits and is on the projector."
            return self._page(request, words, given, 403)
        try:
            nickname = auth.checked_nickname(given.get("nickname", ""))
        except BadInput as error:
            return self._page(request, str(error), given, 400)
        player, secret = await run_in_threadpool(self._add, request, found.id, nickname)
        if player.removed:
            return self._page(request, "The host removed you from this round; you can't join it again.", given, 403)
        (await self.rooms.room(found.id)).join(player)
        response = RedirectResponse(f"/quiz/{found.id}", 303)
        if secret is not None:
            set_cookie(response, self.cookie, secret)
        return response

    def _add(self, request: Request, round_id: int, nickname: str) -> tuple[QuizPlayer, str | None]:
        """The player, and the secret of a new cookie where somebody had none."""
        identity, secret = request.state.identity, None
        if identity is None:
            identity, secret = auth.let_in(self.store, "player", nickname)
        return self.store.add_player(round_id, identity.id, nickname), secret

    def _page(self, request: Request, wrong: str, given: Mapping[str, str], status: int = 200) -> Response:
        identity = request.state.identity
        code = str(given.get("code", ""))[:20]
        known = identity.nickname if identity is not None and identity.role != "instructor" else ""
        html = PAGE.format(
            wrong=f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else "",
            code=escape(code),
            nickname=escape(str(given.get("nickname", known))[:60]),
            longest=auth.LONGEST_NICKNAME,
            focus_code="" if code else " autofocus",
            focus_nickname=" autofocus" if code else "",
        )
        return HTMLResponse(html, status, {"content-security-policy": POLICY, "cache-control": "no-store"})
