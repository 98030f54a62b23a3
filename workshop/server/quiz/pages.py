"""The pages of a live round: shells, which scripts fill from the socket."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from workshop.server.quiz import shells
from workshop.store.records import QuizRound

HEADERS = {"content-security-policy": shells.POLICY, "cache-control": "no-store"}


def player(record: QuizRound, nickname: str) -> Response:
    return HTMLResponse(shells.player_page(record.id, record.title, nickname), headers=HEADERS)


def staff(request: Request, record: QuizRound, view: str) -> Response:
    """What the instructor sees: the projector's page, or the host's."""
    make = shells.host_page if view == "host" else shells.projector_page
    made = make(record.id, record.title, record.code or "", join_address(request, record))
    return HTMLResponse(made, headers=HEADERS)


def join_address(request: Request, record: QuizRound) -> str:
    """Where learners join, under the name by which this browser knows the server."""
    return f"{request.url.scheme}://{request.url.netloc}/quiz?code={record.code or ''}"
