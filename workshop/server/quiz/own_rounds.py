"""/quiz/mine: the rounds that a player took part in, with forms that remove their data. It needs no script.

Each removal is confirmed: a form that lists the data comes between.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.quiz.results import reader
from workshop.server import plain_pages, request_body
from workshop.server.logout import LOG_OUT
from workshop.server.quiz.rooms import Rooms
from workshop.store.records import Identity, QuizPlayer
from workshop.store.store import Store


def routes(store: Store, rooms: Rooms) -> list[BaseRoute]:
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


def removal_notice(gone: str) -> str:
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
    notice = f'<p role="status">{removal_notice(gone)}</p>' if gone else ""
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
