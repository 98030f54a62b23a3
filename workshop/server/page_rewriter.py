"""Whole pages that middleware changes on their way out, whoever made them."""

from __future__ import annotations

import gzip
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Send


def rewriting(send: Send, wanted: Callable[[Headers], bool], change: Callable[[bytes], bytes]) -> Send:
    """A `send` that changes HTML whose headers are `wanted`."""
    start: Message | None = None
    parts: list[bytes] = []

    async def sending(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_html(message) and wanted(Headers(raw=message["headers"])):
            start = message
        elif start is None:
            await send(message)
        else:
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                page, headers = b"".join(parts), MutableHeaders(raw=start["headers"])
                if headers.get("content-encoding") == "gzip":  # as Streamlit's middleware, within this one, does
                    page = gzip.decompress(page)
                    del headers["content-encoding"]
                page = change(page)
                headers["content-length"] = str(len(page))
                for name in ("etag", "last-modified", "accept-ranges"):  # which are the page's as it was
                    del headers[name]
                await send(start)
                await send({"type": "http.response.body", "body": page})

    return sending


def _is_html(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith("text/html")
