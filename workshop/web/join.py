"""/join: class code and nickname for a cookie. A plain page, made for phones; it needs no script."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from workshop.errors import BadInput
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.door import FRAMES, client_address, set_cookie

LARGEST_FORM = 10_000  # bytes
POLICY = (
    f"default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    f"{FRAMES}"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Join the workshop</title>
<link rel="icon" href="/assets/mark.svg">
<link rel="stylesheet" href="/assets/join.css">
</head>
<body>
<main>
<header><img src="/assets/mark.svg" alt=""><h1>Distributed Training Workshop</h1></header>
<p>Real MPI ranks on a real machine, shared by this class. Come in with the code your instructor shows.</p>
{wrong}
<form method="post" action="/join">
<input type="hidden" name="next" value="{next}">
<label>Class code
<input name="code" value="{code}" required maxlength="20" autocomplete="off" autocapitalize="characters"
 spellcheck="false"{focus_code}></label>
<label>Nickname
<input name="nickname" value="{nickname}" required maxlength="30" autocomplete="nickname"{focus_nickname}></label>
<button type="submit">Come in</button>
</form>
{here}
</main>
</body>
</html>
"""


class Join:
    """GET shows the form (`?code=` fills it in), POST lets in or says in one sentence why not."""

    def __init__(self, store: Store, cookie: str, attempts: auth.Attempts) -> None:
        self.store = store
        self.cookie = cookie
        self.attempts = attempts

    async def respond(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._enter(request)
        wrong = ""
        if "wrong" in request.query_params:
            wrong = "That instructor link is not valid any more; use the newest one."
        return self._page(request, wrong, request.query_params)

    async def _enter(self, request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM:
                return self._page(request, "That is far too much for a code and a nickname.", {}, 413)
        given = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        address = client_address(request.scope)
        if wait := self.attempts.wait(address):
            words = f"Too many wrong codes came from your network just now; please try again in {math.ceil(wait)} s."
            return self._page(request, words, given, 429)
        if not await run_in_threadpool(auth.is_class_code, self.store, given.get("code", "")):
            self.attempts.wrong(address)
            words = "That is not this class's code; it has 6 letters and digits and is on the instructor's screen."
            return self._page(request, words, given, 403)
        try:
            nickname = auth.checked_nickname(given.get("nickname", ""))
        except BadInput as error:
            return self._page(request, str(error), given, 400)
        _, secret = await run_in_threadpool(auth.let_in, self.store, "learner", nickname)
        response = RedirectResponse(local(given.get("next", "")), 303)
        set_cookie(response, self.cookie, secret)
        return response

    def _page(self, request: Request, wrong: str, given: Mapping[str, str], status: int = 200) -> Response:
        identity = request.state.identity
        code = str(given.get("code", ""))[:20]
        here = ""
        if identity is not None:
            where = escape(local(given.get("next", "")))
            here = f'<p class="here">You are in as {escape(identity.nickname)}: <a href="{where}">go on</a></p>'
        html = PAGE.format(
            wrong=f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else "",
            next=escape(local(given.get("next", ""))),
            code=escape(code),
            nickname=escape(str(given.get("nickname", ""))[:60]),
            focus_code="" if code else " autofocus",
            focus_nickname=" autofocus" if code else "",
            here=here,
        )
        return HTMLResponse(html, status, {"content-security-policy": POLICY, "cache-control": "no-store"})


def local(wanted: str) -> str:
    """A path of this server to go on to; anything that could lead elsewhere becomes the first page."""
    # Browsers take a backslash for a slash, and two of them for the start of a host's name.
    safe = wanted.isprintable() and wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if safe else "/"
