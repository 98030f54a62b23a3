"""What visitors send: bodies of requests, read up to a limit."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request

from workshop.core.errors import BadInput

LARGEST_FORM = 80_000  # bytes: enough to read a nickname of 10,000 characters, which is then refused


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name. Raises BadInput."""
    body = await _body(request, LARGEST_FORM)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


async def json_object(request: Request, most: int, right: str) -> dict[str, Any]:
    """The body as a JSON object. Raises BadInput with `right`, a description of the right form."""
    try:
        value = json.loads(await _body(request, most))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadInput(f"What was sent can't be read; it should be {right}.")
    return value


async def _body(request: Request, most: int) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise BadInput(f"That is far too much; at most {most:,} bytes are read.")
    return body
