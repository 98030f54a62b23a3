"""/quiz/ID/results: what the instructor learns from a round, as a page and as files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.quiz.results import cards, reader, spreadsheets
from workshop.quiz.results.findings import RoundFindings, find
from workshop.server import plain_pages, request_body
from workshop.server.auth_middleware import FRAMES
from workshop.server.logout import LOG_OUT
from workshop.server.quiz.rooms import Rooms
from workshop.store.records import Identity, QuizPlayer
from workshop.store.store import Store

FRESH = {"cache-control": "no-store"}


# By the ending of an address: the writer of the file, and its media type.
FILES: dict[str, tuple[Callable[[RoundFindings], bytes], str]] = {
    "csv": (spreadsheets.csv, "text/csv; charset=utf-8"),
    "xlsx": (spreadsheets.xlsx, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "html": (cards.write_report, "text/html; charset=utf-8"),
}


def routes(store: Store, rooms: Rooms) -> list[BaseRoute]:
    """All that is counted, and the removal of somebody's data; `rooms` forget with the store."""

    async def page(request: Request) -> Response:
        return await _answer(request, _page, store)

    async def file(request: Request) -> Response:
        return await _answer(request, _file, store)

    return [
        *own_routes(store, rooms),
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
    notice = f'<p class="ws-note" role="status">{removed(gone)}</p>' if gone else ""
    record = store.round(findings.results.round)
    going = record.kind == "live" and record.state.get("phase") != "ended"
    host = f'<p class="tools"><a href="/quiz/{record.id}/host">Back to the host view</a></p>' if going else ""
    tools = f"{notice}{host}{_downloads(findings, request)}{_choices(store, findings, request)}"
    headers = {**FRESH, "content-security-policy": f"{cards.report_policy()}; {FRAMES}"}
    return HTMLResponse(cards.write_report(findings, tools, _removal(findings, request)), headers=headers)


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


def own_routes(store: Store, rooms: Rooms) -> list[BaseRoute]:
    async def own_data(request: Request) -> Response:
        body = await run_in_threadpool(_own_data, store, request.state.identity, request.query_params.get("gone", ""))
        return plain_pages.page("My quizzes", f'{body}<p class="here">On a shared computer, {LOG_OUT} at the end</p>')

    async def forget(request: Request) -> Response:
        identity, round_id = request.state.identity, request.path_params["id"]
        try:
            form = await request_body.form(request)
            players = await run_in_threadpool(_whose, store, round_id, identity, form.get("player", ""))
            if form.get("sure") != "yes":
                return plain_pages.page(
                    "Remove data", await run_in_threadpool(_ask, store, players, form.get("player", ""))
                )
            gone = await run_in_threadpool(reader.forget, store, players)
            for player in players:
                await rooms.forget(round_id, player.id)
        except _Refused as error:
            return PlainTextResponse(str(error), 403)
        except BadInput as error:
            return PlainTextResponse(str(error), 404)
        back = f"/quiz/{round_id}/results" if form.get("player") else "/quiz/mine"
        return RedirectResponse(f"{back}?gone={gone}", 303)

    return [
        Route("/quiz/mine", own_data, methods=["GET"]),
        Route("/quiz/{id:int}/forget", forget, methods=["POST"]),
    ]


class _Refused(BadInput):
    pass


def removed(gone: str) -> str:
    """The message after so many answers were removed; another number in the address is ignored."""
    count = say.count(int(gone), "answer") if gone.isascii() and gone.isdigit() and len(gone) < 6 else "All answers"
    return f"{count} and the name are removed. Files that somebody has downloaded before still hold them."


def _whose(store: Store, round_id: int, identity: Identity, player: str) -> list[QuizPlayer]:
    """Whose data are to go: somebody's own, or for the instructor those of one player. Raises BadInput."""
    this = store.round(round_id)
    if not player:
        players_found = store.players(this.id, identity.id)
        if not players_found:
            raise BadInput("You took no part in this round, or your data were removed already.")
        return players_found
    if identity.role != "instructor":
        raise _Refused("Only the instructor can remove somebody else's data.")
    players_found = [quiz_player for quiz_player in store.players(this.id) if str(quiz_player.id) == player]
    if not players_found:
        raise BadInput("There is no such learner in this round, or their data were removed already.")
    return players_found


def _ask(store: Store, players: Sequence[QuizPlayer], player: str) -> str:
    this = store.round(players[0].round_id)
    count = sum(len(store.answers(this.id, player_id=quiz_player.id)) for quiz_player in players)
    whose = f"of <bdi>{escape(players[0].nickname)}</bdi>" if player else "of yours"
    back = f"/quiz/{this.id}/results" if player else "/quiz/mine"
    return (
        f"<p>{say.count(count, 'answer')} {whose} and the nickname will be removed from <b>{escape(this.title)}</b>, "
        f"round {this.id}: from the store, and from all figures and files that are made from now on. This can't be "
        "undone.</p>"
        f'<form method="post" action="/quiz/{this.id}/forget"><input type="hidden" name="sure" value="yes">'
        f'<input type="hidden" name="player" value="{escape(player)}"><button>Remove for good</button></form>'
        f'<p class="here"><a href="{back}">Keep everything</a></p>'
    )


def _own_data(store: Store, identity: Identity, gone: str) -> str:
    notice = f'<p role="status">{removed(gone)}</p>' if gone else ""
    players_by_round: dict[int, list[QuizPlayer]] = {}
    for player in store.players(identity_id=identity.id):
        players_by_round.setdefault(player.round_id, []).append(player)
    if not players_by_round:
        return f"{notice}<p>No round of a quiz holds anything of you.</p>"
    listed = "".join(_round(store, id, players) for id, players in sorted(players_by_round.items(), reverse=True))
    return f"{notice}<p>Rounds that you took part in, and what they hold of you.</p>{listed}"


def _round(store: Store, round_id: int, players: Sequence[QuizPlayer]) -> str:
    this = store.round(round_id)
    count = sum(len(store.answers(round_id, player_id=quiz_player.id)) for quiz_player in players)
    when = time.strftime("%d %B %Y", time.localtime(players[0].joined_at))
    return (
        f"<p><b>{escape(this.title)}</b><br>Round {round_id}, {when}: {say.count(count, 'answer')} as "
        f"<bdi>{escape(players[0].nickname)}</bdi></p>"
        f'<form method="post" action="/quiz/{round_id}/forget"><button>Remove my data …</button></form><p></p>'
    )
