"""/leave: log out; for the instructor also to log everybody out. It needs no script."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput
from workshop.store.store import Store
from workshop.web import auth, request_body, templates
from workshop.web.auth_middleware import set_cookie


def routes(store: Store, cookie: str) -> list[BaseRoute]:
    """`cookie` is the name of the dashboard's cookie."""

    async def leave(request: Request) -> Response:
        identity = request.state.identity
        if identity is None:
            return RedirectResponse("/join", 303)
        if request.method != "POST":
            return templates.page("leave", nickname=identity.nickname, role=identity.role)
        try:
            form = await request_body.form(request)
        except BadInput as error:
            return templates.page("plain", 413, title="Log out", words=str(error))
        if form.get("who") != "all":
            await run_in_threadpool(store.log_out, identity.id)
            response: Response = RedirectResponse("/join", 303)
            response.headers["cache-control"] = "no-store"
            response.delete_cookie(cookie)
            return response
        if identity.role != "instructor":
            return templates.page("plain", 403, title="Log out", words="Only the instructor can log everybody out.")
        token, code = await run_in_threadpool(auth.log_everybody_out, store)
        _, secret = await run_in_threadpool(auth.let_in, store, "instructor", identity.nickname)
        address = f"{request.url.scheme}://{request.url.netloc}"
        response = templates.page("left", address=address, token=token, code=code)
        set_cookie(response, cookie, secret)
        return response

    return [Route("/leave", leave, methods=["GET", "POST"])]
