"""/join: class code and nickname for a cookie."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workshop.server import auth, limits
from workshop.server.auth_middleware import client_address, set_cookie
from workshop.server.code_form import CodeForm, FormWords
from workshop.server.logout import LOG_OUT


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
