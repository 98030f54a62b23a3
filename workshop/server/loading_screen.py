"""What Streamlit's pages show before its scripts have drawn anything, which takes seconds; style alone does it."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from workshop.report.figures import theme
from workshop.server.page_rewriter import rewriting

# On every page of ours, see workshop/pages/frame.py: what has it has begun to show itself, and keeps it.
DRAWN = ".st-key-menu"
LONGEST = 20  # seconds after which whatever there is shows, as where a page can't reach the server any more
_PLACE = b'<div id="root"></div>'  # of Streamlit's page, and of no other
_HEAD = b"</head>"
# It covers what Streamlit shows first, too: on a dark desktop that is a dark page, before it knows our light colours.
_SHOWN = f"""<style>
body:not(:has({DRAWN}))::before {{
  content: "Loading the dashboard …"; position: fixed; inset: 0; z-index: 1000000; display: grid; place-items: center;
  background: {theme.PAPER}; color: {theme.MUTED}; font: 17px {theme.FONT}; pointer-events: none;
  animation: workshop-opening 0s {LONGEST}s forwards;
}}
@keyframes workshop-opening {{ to {{ visibility: hidden; }} }}
</style>
<noscript><style>body::before {{ display: none !important; }}</style></noscript>
"""


def opened(page: bytes) -> bytes:
    """Streamlit's page with what it shows at first; others as they are."""
    return page.replace(_HEAD, _SHOWN.encode() + _HEAD, 1) if _PLACE in page else page


class LoadingScreen:
    """Middleware that gives Streamlit's pages something to show at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["method"] == "GET" and "range" not in Headers(scope=scope)
        await self.app(scope, receive, rewriting(send, _from_streamlit, opened) if asked else send)


def _from_streamlit(headers: Headers) -> bool:
    """Whether a page may be Streamlit's own: ours have a policy, downloads a name."""
    return "content-security-policy" not in headers and "content-disposition" not in headers
