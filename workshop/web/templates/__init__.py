"""The HTML of pages: the templates in this folder, filled in with values that are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader
from starlette.responses import HTMLResponse, Response

from workshop.report.html import ENVIRONMENT
from workshop.store.sessions import RecordingOrigin
from workshop.web.auth_middleware import FRAMES
from workshop.web.prefix import root

PLAIN = (
    f"default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; form-action 'self'; base-uri 'self'; "
    f"{FRAMES}"
)
# Scripts and styles are files of ours; pictures of decks may be in the page itself, in a question that is learnt alone.
# The projector shows the page of a run in a frame.
QUIZ = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    f"connect-src 'self'; frame-src 'self'; base-uri 'self'; form-action 'none'; {FRAMES}"
)
_ENVIRONMENT = ENVIRONMENT.overlay(loader=FileSystemLoader(Path(__file__).parent))
_ENVIRONMENT.globals["recording"] = None
_ENVIRONMENT.globals["root"] = root


def mark(origin: RecordingOrigin | None) -> None:
    """Have all plain pages and files say that they are of a recording, so that nobody takes them for a session that
    goes on."""
    _ENVIRONMENT.globals["recording"] = origin


def render(name: str, **values: Any) -> str:
    """A template filled in with values."""
    return _ENVIRONMENT.get_template(f"{name}.html").render(values)


def page(name: str, status: int = 200, **values: Any) -> Response:
    """A plain page for phones: without a script, and with the look of the login form."""
    headers = {"content-security-policy": PLAIN, "cache-control": "no-store"}
    return HTMLResponse(render(name, **values), status, headers)


def quiz_page(view: str, heading: str, **data: object) -> Response:
    """A page whose script, quiz/static/`view`.js, makes all that is on it; `data` is for the script."""
    headers = {"content-security-policy": QUIZ, "cache-control": "no-store"}
    return HTMLResponse(render("quiz", view=view, heading=heading, data=data), headers=headers)
