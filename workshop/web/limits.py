"""How many requests each person may send in a minute, and each network address before sign-in; bodies of requests, read
up to a limit. The instructor has no limits. The counts are in memory, so a restart forgets them."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Any
from urllib.parse import parse_qs

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from workshop.core.errors import BadInput
from workshop.web import templates
from workshop.web.auth_middleware import refuse

REQUESTS = RateLimitItemPerMinute(3000, namespace="requests of a person")
VISITS = RateLimitItemPerMinute(6000, namespace="requests of visitors")  # of one address, for a large class that joins
WRONG_CODES = RateLimitItemPerMinute(600, namespace="wrong codes")  # of one address
CODE_PATHS = ("/join", "/quiz")  # a code is read whatever else comes from its address, see `code_form`
WINDOWS = MovingWindowRateLimiter(MemoryStorage())
TRY_LATER = 1013  # code of a close: there is too much to do


class LimitMiddleware:
    """Behind the authentication, which says who somebody is: it refuses what is over the limits."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity, passed = scope.get("state", {}).get("identity"), True
        if scope["type"] in ("http", "websocket"):
            if identity is not None:
                passed = identity.role == "instructor" or hit(REQUESTS, identity.id)
            elif not (scope.get("method") == "POST" and scope["path"] in CODE_PATHS):
                passed = hit(VISITS, client_address(scope))
        await (self.app if passed else _refuse)(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    why = "Too many requests have come; please wait."
    answer: Response = JSONResponse({"error": why}, 429)
    if "text/html" in Headers(scope=scope).get("accept", ""):
        answer = templates.page("plain", 429, title="Please wait", words=why)
    answer.headers.update({"retry-after": "10", "cache-control": "no-store"})
    await refuse(scope, receive, send, why, answer, TRY_LATER)


def hit(item: RateLimitItem, key: Hashable) -> bool:
    """Count something for a person, an address or another key. Returns False, and counts nothing, over the limit."""
    return WINDOWS.hit(item, str(key))


def client_address(scope: Scope) -> str:
    """The address under which requests are counted."""
    return str(scope["client"][0]) if scope.get("client") else ""


LARGEST_BODY = 80_000  # bytes: enough to read a nickname of 10,000 characters, which is then refused


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name. Raises BadInput."""
    return {name: values[0] for name, values in parse_qs((await _body(request)).decode("utf-8", "replace")).items()}


async def json_object(request: Request) -> dict[str, Any]:
    """The body as a JSON object. Raises BadInput."""
    try:
        value = json.loads(await _body(request))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadInput("What was sent can't be read; it should be a JSON object.")
    return value


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise BadInput(f"That is far too much; at most {LARGEST_BODY:,} bytes are read.")
    return body
