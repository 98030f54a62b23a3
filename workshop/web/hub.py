"""The dashboard as a service of JupyterHub, which says who a visitor is: an admin of the hub is the instructor, anybody
else the learner whose notebooks have that account's name. Nobody types a code; guests still can.

OAuth 2.0 with PKCE (RFC 6749, RFC 7636): /oauth_login sends to the hub with a state, which a cookie keeps for its
answer at /oauth_callback. The hub's address and our token come in the variables of a hub's service.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from workshop.core.errors import BadInput, WorkshopError
from workshop.course.learner import nickname
from workshop.store.identities import checked_nickname
from workshop.store.store import Store
from workshop.store.tables import INSTRUCTOR
from workshop.web import auth, templates
from workshop.web.auth_middleware import HUB_LOGIN, UNKEPT, set_cookie
from workshop.web.code_form import local

STATE_SECONDS = 600  # that a login may take
UNCONFIRMED = "JupyterHub did not confirm who you are; come in again."


class HubLogin:
    """`cookie` is the name of the dashboard's cookie. Raises WorkshopError where JupyterHub's package is missing."""

    def __init__(self, store: Store, cookie: str) -> None:
        try:
            from jupyterhub.services.auth import HubOAuth
        except ImportError:
            words = "JupyterHub is not installed where its service runs; install jupyterhub into this environment."
            raise WorkshopError(words) from None
        self._oauth: Any = HubOAuth()
        self._store, self._cookie = store, cookie

    def routes(self) -> list[Route]:
        return [Route(HUB_LOGIN, self.send), Route("/oauth_callback", self.receive)]

    async def send(self, request: Request) -> Response:
        """To the hub, and from there back to the page `next`."""
        verifier, challenge, method = self._oauth.generate_pkce_code_challenge()
        state = self._oauth.generate_state(local(request.query_params.get("next", "")), code_verifier=verifier)
        query = urlencode({"state": state, "code_challenge": challenge, "code_challenge_method": method})
        address = f"{self._oauth.login_url}&{query}"
        if address.startswith("/"):  # of this host, but outside of our prefix
            address = f"//{request.url.netloc}{address}"
        response = RedirectResponse(address, 303, UNKEPT)
        response.set_cookie(
            self._state_name(state), state, max_age=STATE_SECONDS, httponly=True, samesite="lax", path=None
        )
        return response

    async def receive(self, request: Request) -> Response:
        """The hub's answer to this browser's question."""
        from tornado.web import HTTPError

        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        sent_state = request.cookies.get(self._state_name(state), "")
        if not code or not sent_state or not hmac.compare_digest(state.encode(), sent_state.encode()):
            return _refused("This is not the answer to a login of this browser; come in again.")
        page, verifier = self._oauth.get_next_url(state), self._oauth.get_code_verifier(state)
        self._oauth.clear_oauth_state(state)
        try:
            token = await self._oauth.token_for_code(code, code_verifier=verifier, sync=False)
            user = await self._oauth.user_for_token(token, use_cache=False, sync=False)
        except (HTTPError, KeyError):
            return _refused(UNCONFIRMED)
        if user is None or not self._oauth.check_scopes(self._oauth.access_scopes, user):
            return _refused(
                "Your account of JupyterHub may not open this dashboard; its administrator can change that."
            )
        try:
            secret = await run_in_threadpool(self._let_in, user["name"], bool(user.get("admin")))
        except BadInput as error:
            return _refused(str(error))
        response = RedirectResponse(local(page), 303, UNKEPT)
        set_cookie(response, self._cookie, secret)
        response.set_cookie(self._state_name(state), max_age=0, path=None)
        return response

    def _state_name(self, state: str) -> str:
        """The name of a state's cookie: several tabs may log in at once."""
        return f"{self._cookie}_state_{auth.hashed(state)[:8]}"

    def _let_in(self, account: str, admin: bool) -> str:
        """The secret of a new cookie. Raises BadInput where the name can't be shown, or the class is closed."""
        if admin:
            return auth.let_in(self._store, "instructor", INSTRUCTOR)[1]
        name = checked_nickname(nickname(account))
        if self._store.setting(auth.ADMISSION) == "closed" and not self._store.of_notebooks([name]):
            raise BadInput("The instructor has closed the class: only those who were in it come in.")
        secret = secrets.token_urlsafe(32)
        self._store.let_in_account(name, auth.hashed(secret))
        return secret


def _refused(words: str) -> Response:
    return templates.page("plain", 403, title="JupyterHub", words=words, link=("./", "Come in"))
