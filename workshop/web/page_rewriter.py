"""Middleware that changes whole pages on their way out.

`StreamlitPages` gives Streamlit's pages something to show before its scripts have drawn anything, which takes seconds,
and answers 404 where Streamlit would send its page for any address.
`RecordingNotice` marks plain pages and files of a recording, so that nobody takes them for a session that goes on.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workshop import registry
from workshop.report.figures import theme
from workshop.store.read_only import RecordingOrigin
from workshop.web import templates


def rewrite(send: Send, is_wanted: Callable[[Headers], bool], change: Callable[[bytes], bytes]) -> Send:
    """A `send` that applies `change` to HTML pages whose headers satisfy `is_wanted`."""
    start: Message | None = None
    parts: list[bytes] = []

    async def sending(message: Message) -> None:
        nonlocal start
        if (
            message["type"] == "http.response.start"
            and _is_html(message)
            and is_wanted(Headers(raw=message["headers"]))
        ):
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


_PLACE = b'<div id="root"></div>'  # of Streamlit's page, and of no other
_HEAD = b"</head>"
_SCREEN = templates.render("loading", theme=theme).encode()


def with_loading_screen(page: bytes) -> bytes:
    """Streamlit's page with the loading screen; other pages as they are."""
    return page.replace(_HEAD, _SCREEN + _HEAD, 1) if _PLACE in page else page


def _from_streamlit(headers: Headers) -> bool:
    """Whether a page may be Streamlit's own: ours have a policy, downloads a name."""
    return "content-security-policy" not in headers and "content-disposition" not in headers


OTHERS_FOLDERS = ("/component/", "/_stcore/")  # what Streamlit serves there isn't the dashboard's page


class StreamlitPages:
    """Middleware that lets Streamlit send its page only where there is one, with something to show at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(OTHERS_FOLDERS):
            await self.app(scope, receive, send)
            return
        if _is_page(scope["path"]):
            rewritten = scope["method"] == "GET" and "range" not in Headers(scope=scope)
            await self.app(scope, receive, rewrite(send, _from_streamlit, with_loading_screen) if rewritten else send)
            return
        lost = False

        async def sending(message: Message) -> None:
            nonlocal lost
            if message["type"] == "http.response.start" and message["status"] in (200, 304) and _is_html(message):
                lost = _from_streamlit(Headers(raw=message["headers"]))
            if not lost:
                await send(message)

        await self.app(scope, receive, sending)
        if lost:
            words, link = "There is no page at this address.", ("/", "Go to the first page")
            await templates.page("plain", 404, title="No such page", words=words, link=link)(scope, receive, send)


def _is_page(path: str) -> bool:
    return path == "/" or any(path.strip("/") == page.name for page in registry.pages())


_BODY = re.compile(rb"<body[^>]*>")
_OURS = "default-src 'none'"  # our own pages say so themselves; Streamlit's has a banner of its own


def with_notice(page: bytes, origin: RecordingOrigin) -> bytes:
    """A whole HTML page with the mark as its first words."""
    note = templates.render("recording", words=origin.words).encode()
    return _BODY.sub(lambda body: body[0] + note, page, count=1)


class RecordingNotice:
    """Middleware that adds the notice to every plain page."""

    def __init__(self, app: ASGIApp, origin: RecordingOrigin) -> None:
        self.app = app
        self.change = partial(with_notice, origin=origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = scope["type"] == "http"
        await self.app(scope, receive, rewrite(send, _is_plain_page, self.change) if http else send)


def _is_plain_page(headers: Headers) -> bool:
    return _OURS in headers.get("content-security-policy", "") or "content-disposition" in headers
