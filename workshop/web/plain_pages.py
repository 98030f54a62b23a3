"""Plain pages for phones: no script, and the look of the login form."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from workshop.web.auth_middleware import FRAMES

POLICY = (
    f"default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    f"{FRAMES}"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="/assets/mark.svg">
<link rel="stylesheet" href="/assets/join.css">
</head>
<body>
<main>
<header><img src="/assets/mark.svg" alt=""><h1>{heading}</h1></header>
{body}
</main>
</body>
</html>
"""


def page(title: str, body: str, *, heading: str = "", status: int = 200) -> Response:
    """A page; `title`, `heading` (default: the title) and `body` are HTML."""
    html = PAGE.format(title=title, heading=heading or title, body=body)
    return HTMLResponse(html, status, {"content-security-policy": POLICY, "cache-control": "no-store"})


async def accessibility(request: Request) -> Response:
    """What was tested for people who see, hear or move differently, and what doesn't work yet."""
    return page("Accessibility", Path(__file__).with_name("static").joinpath("accessibility.html").read_text())
