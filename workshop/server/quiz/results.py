"""/quiz/ID/results: what the instructor learns from a round, as a page and as files."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core.errors import BadInput
from workshop.quiz.results import reader, report, spreadsheets
from workshop.quiz.results.findings import RoundFindings, find
from workshop.server import plain_pages
from workshop.server.auth_middleware import FRAMES
from workshop.server.quiz import own_rounds
from workshop.server.quiz.rooms import Rooms
from workshop.store.store import Store

FRESH = {"cache-control": "no-store"}


# By the ending of an address: the writer of the file, and its media type.
FILES: dict[str, tuple[Callable[[RoundFindings], bytes], str]] = {
    "csv": (spreadsheets.csv, "text/csv; charset=utf-8"),
    "xlsx": (spreadsheets.xlsx, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "html": (report.write, "text/html; charset=utf-8"),
}


def routes(store: Store, rooms: Rooms) -> list[BaseRoute]:
    """All that is counted, and the removal of somebody's data; `rooms` forget with the store."""

    async def page(request: Request) -> Response:
        return await _answer(request, _page, store)

    async def file(request: Request) -> Response:
        return await _answer(request, _file, store)

    return [
        *own_rounds.routes(store, rooms),
        Route("/quiz/{id:int}/results", page, methods=["GET"]),
        Route("/quiz/{id:int}/results.{ending}", file, methods=["GET"]),
    ]


async def _answer(request: Request, make: Callable[[Store, Request], Response], store: Store) -> Response:
    if request.state.identity.role != "instructor":
        return _message("Results of a round are for the instructor only.", 403)
    try:
        return await run_in_threadpool(make, store, request)
    except BadInput as error:
        return _message(str(error), 404)


def _message(words: str, status: int) -> Response:
    body = f'<p>{escape(words)}</p><p><a href="/quizzes">To the page Quizzes</a></p>'
    return plain_pages.page("Results", body, status=status)


def _findings(store: Store, request: Request) -> RoundFindings:
    """The findings that an address asks for. Raises BadInput."""
    results = reader.read(store, request.path_params["id"])
    earlier = request.query_params.get("before", "")
    if earlier and not (earlier.isascii() and earlier.isdigit() and len(earlier) < 20):
        raise BadInput(f"There is no quiz round {earlier[:20]!r} to compare with; it should be a number.")
    before = reader.read(store, int(earlier)) if earlier else None
    return find(results, before, anonymous="anonymous" in request.query_params)


def _file(store: Store, request: Request) -> Response:
    ending = request.path_params["ending"]
    if ending not in FILES:
        raise BadInput(f"There are no results as {ending[:20]}; they can be had as {', '.join(FILES)}.")
    findings = _findings(store, request)
    write, media_type = FILES[ending]
    name = f"{findings.results.deck.deck}-round-{findings.results.round}.{ending}"
    headers = {**FRESH, "content-disposition": f'attachment; filename="{name}"'}
    return Response(write(findings), media_type=media_type, headers=headers)


def _page(store: Store, request: Request) -> Response:
    findings = _findings(store, request)
    gone = request.query_params.get("gone", "")
    notice = f'<p class="ws-note" role="status">{own_rounds.removal_notice(gone)}</p>' if gone else ""
    record = store.round(findings.results.round)
    going = record.kind == "live" and record.state.get("phase") != "ended"
    host = f'<p class="tools"><a href="/quiz/{record.id}/host">Back to the host view</a></p>' if going else ""
    tools = f"{notice}{host}{_downloads(findings, request)}{_choices(store, findings, request)}"
    headers = {**FRESH, "content-security-policy": f"{report.policy()}; {FRAMES}"}
    return HTMLResponse(report.write(findings, tools, _removal(findings, request)), headers=headers)


def _downloads(findings: RoundFindings, request: Request) -> str:
    options = {name: request.query_params[name] for name in ("before", "anonymous") if name in request.query_params}
    query = escape(f"?{urlencode(options)}") if options else ""
    texts = {"csv": "Answers as CSV", "xlsx": "Workbook (XLSX)", "html": "Class report"}
    links = "".join(
        f'<a href="/quiz/{findings.results.round}/results.{ending}{query}">{text}</a>' for ending, text in texts.items()
    )
    return f'<nav class="tools" aria-label="Files">{links}</nav>'


def _choices(store: Store, findings: RoundFindings, request: Request) -> str:
    """Which earlier round to compare with, and whether names are shown."""
    results = findings.results
    earlier = [other.id for other in store.rounds(name=results.deck.deck) if other.id < results.round]
    chosen = request.query_params.get("before", "")
    options = "".join(
        f'<option value="{number}"{" selected" if str(number) == chosen else ""}>round {number}</option>'
        for number in earlier
    )
    compared = (
        f'<label>Compare with <select name="before"><option value="">no other round</option>{options}</select></label>'
        if options
        else ""
    )
    checked = " checked" if "anonymous" in request.query_params else ""
    return (
        f'<form class="tools" method="get" action="/quiz/{results.round}/results">{compared}'
        f'<label><input type="checkbox" name="anonymous" value="1"{checked}> Without nicknames</label>'
        "<button>Show</button></form>"
    )


def _removal(findings: RoundFindings, request: Request) -> str:
    """A learner's data are removed from here, by nickname."""
    players = findings.results.players
    if not players or "anonymous" in request.query_params:
        return ""
    options = "".join(f'<option value="{player.id}">{escape(player.nickname)}</option>' for player in players)
    return (
        f'<form method="post" action="/quiz/{findings.results.round}/forget"><h2>Remove a learner\'s data</h2>'
        "<p>Their answers and their name are removed from this round, its figures and files for good.</p>"
        f'<p class="tools"><label>Learner <select name="player">{options}</select></label>'
        '<button class="alarm">Remove …</button></p></form>'
    )
