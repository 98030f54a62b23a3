"""/leave: log out; for the instructor also to log everybody out. It needs no script."""

from __future__ import annotations

from html import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import auth, plain_pages, request_body
from workshop.web.auth_middleware import set_cookie

PATH = "/leave"
LOG_OUT = f'<a href="{PATH}">log out</a>'
_FORM = (
    '<form method="post" action="/leave"><input type="hidden" name="who" value="{who}"><button>{label}</button></form>'
)
_ME = _FORM.format(who="me", label="Log out")
_ALL = f"""<h2>Everybody</h2>
<p>This logs out all browsers, also those on phones in a quiz. The class gets a new code, and you get a new link: those
that <code>workshop up</code> has printed are worth nothing then. Runs, studies and answers stay.</p>
{_FORM.format(who="all", label="Log everybody out")}"""


def routes(store: Store, cookie: str) -> list[BaseRoute]:
    """`cookie` is the name of the dashboard's cookie."""

    async def ask(request: Request) -> Response:
        identity = request.state.identity
        return RedirectResponse("/join", 303) if identity is None else plain_pages.page("Log out", _question(identity))

    async def leave(request: Request) -> Response:
        identity = request.state.identity
        if identity is None:
            return RedirectResponse("/join", 303)
        try:
            form = await request_body.form(request)
        except request_body.TooMuch as error:
            return plain_pages.page("Log out", f"<p>{escape(str(error))}</p>", status=413)
        if form.get("who") != "all":
            await run_in_threadpool(store.log_out, identity.id)
            response: Response = RedirectResponse("/join", 303)
            response.headers["cache-control"] = "no-store"
            response.delete_cookie(cookie)
            return response
        if identity.role != "instructor":
            return plain_pages.page("Log out", "<p>Only the instructor can log everybody out.</p>", status=403)
        token, code = await run_in_threadpool(auth.log_everybody_out, store)
        _, secret = await run_in_threadpool(auth.let_in, store, "instructor", identity.nickname)
        where = f"{request.url.scheme}://{request.url.netloc}"
        response = plain_pages.page("Everybody is logged out", _secrets_page(where, token, code))
        set_cookie(response, cookie, secret)
        return response

    return [Route(PATH, ask, methods=["GET"]), Route(PATH, leave, methods=["POST"])]


def _question(identity: Identity) -> str:
    """The question before a logout."""
    name = f"<p>You are in as <b><bdi>{escape(identity.nickname)}</bdi></b>."
    back = '<p class="here"><a href="/">Stay</a></p>'
    match identity.role:
        case "instructor":
            return f"{name} Your link lets you in again.</p>{_ME}{_ALL}{back}"
        case "player":
            stay = '<p class="here"><a href="/quiz">Stay</a></p>'
            return f"{name} Your answers stay, and nobody can go on as you.</p>{_ME}{stay}"
    return (
        f"{name} Your runs and answers stay, but nobody can go on as you: whoever comes in again with this nickname "
        f"gets a number behind it.</p>{_ME}{back}"
    )


def _secrets_page(where: str, token: str, code: str) -> str:
    """The new token and class code for the instructor. They are shown once."""
    link, learners = f"{where}/?token={token}", f"{where}/join?code={code}"
    return (
        "<p>You are still in, in this browser. This page is shown once; note what is on it.</p>"
        f'<p>Class code<br><b class="code">{escape(code)}</b></p>'
        f"<p>Learners<br><code>{escape(learners)}</code></p>"
        f"<p>Instructor: keep this link to yourself<br><code>{escape(link)}</code></p>"
        '<p class="here"><a href="/">Go on</a></p>'
    )
