"""Where the pages of quizzes are, and who may see which; and the form to join a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from workshop.core.errors import BadInput, WorkshopError
from workshop.store.records import QuizPlayer, QuizRound
from workshop.store.store import Store
from workshop.web import address, auth, templates
from workshop.web.auth_middleware import set_cookie
from workshop.web.code_form import CodeForm
from workshop.web.prefix import base
from workshop.web.quiz import results, self_study, socket
from workshop.web.quiz.room import Room, Rooms
from workshop.web.quiz.round import MOST_PLAYERS


def routes(store: Store, cookie: str) -> list[BaseRoute]:
    """`cookie` is the name of the dashboard's cookie."""
    rooms = Rooms(store)
    joining = JoinForm(store, rooms, cookie)

    def route(path: str, page: Callable[[Request, QuizRound], Response], *, staff: bool = True) -> Route:
        def respond(request: Request) -> Response:
            if staff and not _staff(request):
                return PlainTextResponse("Only the instructor can see this.", 403)
            try:
                record = store.round(request.path_params["id"])
            except BadInput as error:
                return PlainTextResponse(str(error), 404)
            if record.kind != "live":
                return PlainTextResponse(f"Quiz round {record.id} is not a live one.", 404)
            return page(request, record)

        return Route(f"/quiz/{{id:int}}{path}", respond)

    def player(request: Request, record: QuizRound) -> Response:
        players = store.players(record.id, request.state.identity.id)
        if not players:
            # Those of the class see what goes on anyway; who came in for one round has no other round's code from here.
            logged_in = request.state.identity.role != "player"
            return RedirectResponse(f"/quiz?code={record.code or ''}" if logged_in else "/quiz", 303)
        member = "" if request.state.identity.role == "player" else "yes"
        data = {"round": record.id, "title": record.title, "nickname": players[0].nickname, "member": member}
        return templates.quiz_page("player", record.title, **data)

    async def picture(request: Request) -> Response:
        try:
            room = await rooms.room(request.path_params["id"])
            participant = room.participants.find(request.state.identity.id)
            if not _staff(request) and (participant is None or participant.removed):
                return PlainTextResponse(
                    "Pictures of a round are for those in it; join it at /quiz, with its code.", 403
                )
            answer = await run_in_threadpool(_picture, room, request.path_params["question"], _staff(request))
            rooms.drop(room)
            return answer
        except WorkshopError as error:
            return PlainTextResponse(str(error), 404)

    async def here(websocket: WebSocket) -> None:
        """Keep who reads a round's last page on the line, so that they count as here."""
        await websocket.accept()
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass

    return [
        Route("/quiz", joining.respond, methods=["GET", "POST"]),
        route("", player, staff=False),
        route("/host", partial(_screen, "host")),
        route("/projector", partial(_screen, "projector")),
        Route("/quiz/{id:int}/picture/{question}", picture),
        WebSocketRoute("/quiz/{id:int}/socket", partial(socket.serve, rooms=rooms)),
        WebSocketRoute("/quiz/here", here),
        *results.routes(store),
        *self_study.routes(store),
    ]


def _staff(request: Request) -> bool:
    return bool(request.state.identity.role == "instructor")


def _screen(view: str, request: Request, record: QuizRound) -> Response:
    """The page of the host or the projector."""
    heading = f"Host: {record.title}" if view == "host" else record.title
    # Where learners join, under the name by which this browser knows the server.
    join = f"{base(request)}/quiz?code={record.code or ''}"
    data = {"round": record.id, "title": record.title, "code": record.code or ""}
    return templates.quiz_page(view, heading, **data, join=join, image=address.qr_code(join))


def _picture(room: Room, question: str, staff: bool) -> Response:
    """The picture of a question, for those who may see the question. Raises BadInput where there is none, or its
    question was not asked yet."""
    shown_ids = room.ids[: room.state.position + 1]
    if question not in (room.ids if staff else shown_ids):
        raise BadInput(f"There is no question {question[:60]} here.")
    return self_study.picture(room.deck, Path(folder) if (folder := room.record.deck_folder) else None, question)


class JoinForm(CodeForm):
    """Into a live round, or in one sentence why not."""

    template = "join_quiz"
    wrong_code = "No quiz that goes on has this code; it has 6 letters and digits and is on the projector."

    def __init__(self, store: Store, rooms: Rooms, cookie: str) -> None:
        super().__init__(store, cookie)
        self.rooms = rooms

    async def respond(self, request: Request) -> Response:
        """A learner of the class who follows a link with the code is in; others type their nickname."""
        identity, form = request.state.identity, request.query_params
        member = request.method == "GET" and identity is not None and identity.role == "learner"
        if member and (quiz_round := await self.find(form.get("code", ""))):
            return await self.let_in(request, quiz_round, identity.nickname, form)
        return await super().respond(request)

    async def find(self, code: str) -> QuizRound | None:
        typed = "".join(code.split()).upper()[:20]
        return await run_in_threadpool(self.store.round_by_code, typed) if typed else None

    async def let_in(self, request: Request, quiz_round: Any, nickname: str, form: Mapping[str, str]) -> Response:
        try:
            room = await self.rooms.room(quiz_round.id)
            identity = request.state.identity
            if room.state.locked and (identity is None or room.participants.find(identity.id) is None):
                raise BadInput("The host has locked this round: nobody new can join it now.")
            player, secret = await run_in_threadpool(self._add, request, quiz_round.id, nickname)
        except BadInput as error:
            return self.page(request, str(error), form, 409)
        if player.removed:
            return self.page(request, "The host removed you from this round; you can't join it again.", form, 403)
        room.join(player)
        response = RedirectResponse(f"/quiz/{quiz_round.id}", 303)
        if secret is not None:
            set_cookie(response, self.cookie, secret)
        return response

    def _add(self, request: Request, round_id: int, nickname: str) -> tuple[QuizPlayer, str | None]:
        """The player, and the secret of a new cookie where somebody had none. Raises BadInput where the round is full
        and they weren't in it."""
        identity, secret = request.state.identity, None
        if identity is None:
            identity, secret = auth.let_in(self.store, "player", nickname, self.secret(request))
        return self.store.add_player(round_id, identity.id, nickname, most=MOST_PLAYERS), secret

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **values: Any) -> Response:
        identity = request.state.identity
        if identity is not None and identity.role != "instructor":
            request.state.nickname = identity.nickname
        return super().page(request, wrong, form, status)
