"""Where the pages of quizzes are, and who may see which; the form to join a round; scripts and styles."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from workshop.core.errors import BadInput, WorkshopError
from workshop.quiz import pictures, reader
from workshop.store.quizzes import full
from workshop.store.records import QuizPlayer, QuizRound
from workshop.store.store import Store
from workshop.web import address, auth, request_body
from workshop.web.auth_middleware import set_cookie
from workshop.web.code_form import CodeForm, FormWords
from workshop.web.quiz import pages, results, round_start, self_study, socket
from workshop.web.quiz.participants import MOST_PLAYERS
from workshop.web.quiz.room import Room
from workshop.web.quiz.rooms import Rooms

LARGEST_DECK = 2 << 20  # bytes of an uploaded file, as JSON
DECK = "a JSON object with a deck's name as deck, or the text of one as yaml"

HEADERS = {"content-security-policy": pages.POLICY, "cache-control": "no-store"}

Respond = Callable[[Request], Awaitable[Response]]


def routes(store: Store, cookie: str) -> list[BaseRoute]:
    """`cookie` is the name of the dashboard's cookie."""
    rooms = Rooms(store)
    joining = JoinForm(store, rooms, cookie)

    async def player(request: Request) -> Response:
        record = await _find_round(store, request)
        if isinstance(record, Response):
            return record
        players = await run_in_threadpool(store.players, record.id, request.state.identity.id)
        if not players:
            # Those of the class see what goes on anyway; who came in for one round has no other round's code from here.
            logged_in = request.state.identity.role != "player"
            return RedirectResponse(f"/quiz?code={record.code or ''}" if logged_in else "/quiz", 303)
        member = "" if request.state.identity.role == "player" else "yes"
        data = {"round": record.id, "title": record.title, "nickname": players[0].nickname, "member": member}
        return HTMLResponse(pages.page("player", record.title, **data), headers=HEADERS)

    def staff(view: str) -> Respond:
        async def respond(request: Request) -> Response:
            if refused := _not_instructor(request):
                return refused
            record = await _find_round(store, request)
            if isinstance(record, Response):
                return record
            heading = f"Host: {record.title}" if view == "host" else record.title
            data = {"round": record.id, "title": record.title, "code": record.code or ""}
            page = pages.page(view, heading, **data, join=_join_address(request, record))
            return HTMLResponse(page, headers=HEADERS)

        return respond

    async def code(request: Request) -> Response:
        if refused := _not_instructor(request):
            return refused
        record = await _find_round(store, request)
        if isinstance(record, Response):
            return record
        image = address.qr_code(_join_address(request, record))
        return Response(image, media_type="image/svg+xml", headers={"cache-control": "no-store"})

    async def picture(request: Request) -> Response:
        try:
            room = await rooms.room(request.path_params["id"])
            if not (_staff(request) or room.participants.takes_part(request.state.identity.id)):
                return PlainTextResponse(
                    "Pictures of a round are for those in it; join it at /quiz, with its code.", 403
                )
            answer = await run_in_threadpool(_picture, room, request.path_params["question"], _staff(request))
            rooms.drop(room)
            return answer
        except WorkshopError as error:
            return PlainTextResponse(str(error), 404)

    async def begin(request: Request) -> Response:
        if refused := _not_instructor(request):
            return refused
        try:
            record = await run_in_threadpool(_begin, store, await request_body.json_object(request, LARGEST_DECK, DECK))
        except WorkshopError as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"id": record.id, "code": record.code})

    async def line(websocket: WebSocket) -> None:
        await socket.serve(websocket, rooms)

    return [
        Route("/quiz", joining.respond, methods=["GET", "POST"]),
        Route("/quiz/rounds", begin, methods=["POST"]),
        Route("/quiz/{id:int}", player),
        Route("/quiz/{id:int}/host", staff("host")),
        Route("/quiz/{id:int}/projector", staff("projector")),
        Route("/quiz/{id:int}/code.svg", code),
        Route("/quiz/{id:int}/picture/{question}", picture),
        WebSocketRoute("/quiz/{id:int}/socket", line),
        Route("/assets/quiz/{name}", _static),
        *results.routes(store),
        *self_study.routes(store),
    ]


def _staff(request: Request) -> bool:
    return bool(request.state.identity.role == "instructor")


def _not_instructor(request: Request) -> Response | None:
    return None if _staff(request) else PlainTextResponse("Only the instructor can see this.", 403)


async def _find_round(store: Store, request: Request) -> QuizRound | Response:
    """The live round that an address names, or the answer that there is none."""
    try:
        record = await run_in_threadpool(store.round, request.path_params["id"])
    except BadInput as error:
        return PlainTextResponse(str(error), 404)
    if record.kind != "live":
        return PlainTextResponse(f"Quiz round {record.id} is not a live one.", 404)
    return record


def _begin(store: Store, body: dict[str, object]) -> QuizRound:
    """A round as the instructor asks for it. Raises BadInput."""
    names = {"deck", "yaml", "file", "session", "speed_bonus", "ranking", "vote_twice"}
    if others := set(body) - names:
        raise BadInput(f"A round has no {min(others)[:40]!r}; it has {', '.join(sorted(names))}.")
    texts = {name: body.get(name, "") for name in ("deck", "yaml", "file", "session")}
    defaults = {"speed_bonus": False, "ranking": True, "vote_twice": False}
    wishes: dict[str, Any] = {name: body.get(name, default) for name, default in defaults.items()}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise BadInput(f"{name} should be text.")
    for name, value in wishes.items():
        if not isinstance(value, bool):
            raise BadInput(f"{name} should be yes or no.")
    folder: Path | str = ""
    if texts["yaml"]:
        deck = reader.parse(str(texts["yaml"]), str(texts["file"] or "the file"))
    else:
        path = reader.shipped().get(str(texts["deck"]))
        if path is None:  # a name only: nobody opens files of the server from here
            raise BadInput(f"There is no deck {texts['deck']!r}; there are {', '.join(reader.shipped())}.")
        deck, folder = reader.read(path), path.parent
    return round_start.host(store, deck, folder, session=str(texts["session"]), **wishes)


async def _static(request: Request) -> Response:
    file = (await run_in_threadpool(_files)).get(request.path_params["name"])
    if file is None:
        return PlainTextResponse("There is no such asset.", 404)
    data, kind, etag = file
    # Never cached, so that scripts of different versions are never mixed.
    headers = {"cache-control": "public, no-cache", "etag": etag}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=kind, headers=headers)


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """Scripts and styles: name -> bytes, media type, ETag."""
    files = {}
    for path in (Path(__file__).parent / "static").iterdir():
        data = path.read_bytes()
        kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
        files[path.name] = data, kind or "application/octet-stream", f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    return files


def _join_address(request: Request, record: QuizRound) -> str:
    """Where learners join, under the name by which this browser knows the server."""
    return f"{request.url.scheme}://{request.url.netloc}/quiz?code={record.code or ''}"


def _picture(room: Room, question: str, staff: bool) -> Response:
    """The picture of a question, for those who may see the question. Raises BadInput where there is none, or its
    question was not asked yet."""
    shown_ids = room.ids[: room.state.position + 1]
    if question not in (room.ids if staff else shown_ids):
        raise BadInput(f"There is no question {question[:60]} here.")
    picture = room.deck.question(question).picture
    if picture is None:
        raise BadInput(f"The question {question} has no picture.")
    folder = room.record.deck_folder
    loaded = pictures.load(Path(folder) if folder else None, picture)
    headers = {**pictures.HEADERS, "cache-control": "private, max-age=3600"}
    return Response(loaded.data, media_type=loaded.kind, headers=headers)


class JoinForm(CodeForm):
    """Into a live round, or in one sentence why not."""

    words = FormWords(
        title="Join a quiz",
        heading="Join a quiz",
        welcome="Come in with the code on the projector. Others see your nickname in the ranking.",
        action="/quiz",
        label="Quiz code",
        button="Join",
        wrong_code="No quiz that goes on has this code; it has 6 letters and digits and is on the projector.",
    )

    def __init__(self, store: Store, rooms: Rooms, cookie: str) -> None:
        super().__init__(store, cookie)
        self.rooms = rooms

    async def find(self, code: str) -> QuizRound | None:
        typed = "".join(code.split()).upper()[:20]
        return await run_in_threadpool(self.store.round_by_code, typed) if typed else None

    async def let_in(self, request: Request, quiz_round: Any, nickname: str, form: Mapping[str, str]) -> Response:
        try:
            room = await self.rooms.room(quiz_round.id)
            # All this before the store gets to know somebody who can't come in.
            identity = request.state.identity
            guest = identity is None or identity.role == "player"
            if identity is None or room.participants.find(identity.id) is None:
                if room.state.locked:
                    raise BadInput("The host has locked this round: nobody new can join it now.")
                await room.free_seat(MOST_PLAYERS, for_member=not guest)
                if identity is None and room.participants.count >= MOST_PLAYERS:
                    raise full(MOST_PLAYERS)
            player, secret = await run_in_threadpool(self._add, request, quiz_round.id, nickname)
        except BadInput as error:
            return self.page(request, str(error), form, 409)
        if player.removed:
            return self.page(request, "The host removed you from this round; you can't join it again.", form, 403)
        room.join(player, guest)
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

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **more: str) -> Response:
        identity = request.state.identity
        if identity is not None and identity.role != "instructor":
            more["nickname"] = identity.nickname
        return super().page(request, wrong, form, status, **more)
