"""What stands on plain pages and in files of a recording, so that nobody takes it for what goes on."""

from __future__ import annotations

import re
from functools import partial
from html import escape

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from workshop.server.page_rewriter import rewriting
from workshop.store.recorded import RecordingOrigin

_BODY = re.compile(rb"<body[^>]*>")
_OURS = "default-src 'none'"  # our own pages say so themselves; Streamlit's has a banner of its own


def marked(page: bytes, found: RecordingOrigin) -> bytes:
    """A whole HTML page with the mark as its first words."""
    note = f'<p class="note recorded" role="note">{escape(found.words)}</p>'.encode()
    return _BODY.sub(lambda body: body[0] + note, page, count=1)


class RecordingNotice:
    """Middleware that marks every plain page, whoever made it."""

    def __init__(self, app: ASGIApp, found: RecordingOrigin) -> None:
        self.app = app
        self.found = found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        http = scope["type"] == "http"
        change = partial(marked, found=self.found)
        await self.app(scope, receive, rewriting(send, _is_plain_page, change) if http else send)


def _is_plain_page(headers: Headers) -> bool:
    return _OURS in headers.get("content-security-policy", "") or "content-disposition" in headers
