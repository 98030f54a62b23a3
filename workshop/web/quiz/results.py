"""/quiz/ID/results: a round's results for the instructor, as a page and as files; the removal of a learner's data."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz.results import record, spreadsheets
from workshop.quiz.results.cards import cards, head
from workshop.quiz.results.findings import RoundFindings, find
from workshop.report import html
from workshop.store.store import Store
from workshop.web import limits, templates
from workshop.web.auth_middleware import FRAMES
from workshop.web.templates import render

FRESH = {"cache-control": "no-store"}
CSV = "text/csv; charset=utf-8"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@cache
def style() -> str:
    return html.STYLE + Path(__file__).with_name("report.css").read_text(encoding="utf-8")


@cache
def policy() -> str:
    """The content security policy of a page: it allows only the page's style sheet."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'self'; form-action 'self'"


def write_report(findings: RoundFindings, template: str = "report", **values: Any) -> bytes:
    """The class report, one HTML page without scripts and without requests to servers, as a file, or as a page by a
    template that adds to it."""
    page = render(
        template,
        title=findings.results.title,
        head=head(findings.results),
        policy=policy(),
        style=style(),
        cards=[html.section(card, lambda _: "") for card in cards(findings)],
        **values,
    )
    return page.encode("utf-8", "replace")


def _grades(kind: spreadsheets.Kind, findings: RoundFindings) -> bytes:
    return spreadsheets.of_round(findings).write(kind)


# By the ending of an address: the writer of the file, its media type, and the text of the link to it.
FILES: dict[str, tuple[Callable[[RoundFindings], bytes], str, str]] = {
    "csv": (spreadsheets.csv, CSV, "Answers as CSV"),
    "xlsx": (spreadsheets.xlsx, XLSX, "Workbook (XLSX)"),
    "html": (write_report, "text/html; charset=utf-8", "Class report"),
    **{f"grades-{kind}.csv": (partial(_grades, kind), CSV, title) for kind, title in spreadsheets.TITLES.items()},
}


def routes(store: Store) -> list[BaseRoute]:
    async def forget(request: Request) -> Response:
        if request.state.identity.role != "instructor":
            return _message("Only the instructor can remove a learner's data.", 403)
        round_id = request.path_params["id"]
        try:
            form = await limits.form(request)
            players = await run_in_threadpool(lambda: store.players(store.round(round_id).id))
            player = next((player for player in players if str(player.id) == form.get("player")), None)
            if player is None:
                raise BadInput("There is no such learner in this round, or their data were removed already.")
            if form.get("sure") != "yes":
                return templates.page("removal", player=player, round=await run_in_threadpool(store.round, round_id))
            gone = await run_in_threadpool(store.forget_player, player.id)
        except BadInput as error:
            return _message(str(error), 404)
        return RedirectResponse(f"/quiz/{round_id}/results?gone={gone}", 303)

    return [
        Route("/quiz/{id:int}/forget", forget, methods=["POST"]),
        Route("/quiz/{id:int}/results", partial(_answer, _page, store), methods=["GET"]),
        Route("/quiz/{id:int}/results.{ending}", partial(_answer, _file, store), methods=["GET"]),
    ]


async def _answer(make: Callable[[Store, Request], Response], store: Store, request: Request) -> Response:
    if request.state.identity.role != "instructor":
        return _message("Results of a round are for the instructor only.", 403)
    try:
        return await run_in_threadpool(make, store, request)
    except BadInput as error:
        return _message(str(error), 404)


def _message(words: str, status: int) -> Response:
    return templates.page("plain", status, title="Results", words=words, link=("quizzes", "To the page Quiz"))


def _findings(store: Store, request: Request) -> RoundFindings:
    """The findings that an address asks for. Raises BadInput."""
    results = record.read(store, request.path_params["id"])
    return find(results, anonymous="anonymous" in request.query_params)


def _file(store: Store, request: Request) -> Response:
    ending = request.path_params["ending"]
    if ending not in FILES:
        raise BadInput(f"There are no results as {ending[:20]}; they can be had as {', '.join(FILES)}.")
    findings = _findings(store, request)
    write, media_type, _ = FILES[ending]
    name = f"{findings.results.deck.deck}-round-{findings.results.round}.{ending}"
    headers = {**FRESH, "content-disposition": f'attachment; filename="{name}"'}
    return Response(write(findings), media_type=media_type, headers=headers)


def _page(store: Store, request: Request) -> Response:
    findings = _findings(store, request)
    gone = request.query_params.get("gone", "")
    record = store.round(findings.results.round)
    page = write_report(
        findings,
        "results",
        answers=words.count(int(gone), "answer") if gone.isdecimal() and len(gone) < 6 else "",
        going_on=record.kind == "live" and record.state.get("phase") != "ended",
        round=record.id,
        files=FILES,
        anonymous="anonymous" in request.query_params,
        players=findings.results.players,
    )
    return HTMLResponse(page, headers={**FRESH, "content-security-policy": f"{policy()}; {FRAMES}"})
