"""/quiz: a round's code and a nickname."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from workshop.core.errors import BadInput
from workshop.server import auth, limits
from workshop.server.auth_middleware import client_address, set_cookie
from workshop.server.code_form import CodeForm, FormWords
from workshop.server.login_attempts import Attempts
from workshop.server.quiz.participants import MOST_PLAYERS
from workshop.server.quiz.rooms import Rooms
from workshop.store.quizzes import full
from workshop.store.records import QuizPlayer, QuizRound
from workshop.store.store import Store


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

    def __init__(self, store: Store, rooms: Rooms, cookie: str, attempts: Attempts) -> None:
        super().__init__(store, cookie, attempts)
        self.rooms = rooms

    async def find(self, code: str) -> QuizRound | None:
        typed = "".join(code.split()).upper()[:20]
        return await run_in_threadpool(self.store.round_by_code, typed) if typed else None

    def makes_name(self, request: Request) -> bool:
        return request.state.identity is None

    async def let_in(self, request: Request, quiz_round: Any, nickname: str, form: Mapping[str, str]) -> Response:
        address = client_address(request.scope)
        try:
            room = await self.rooms.room(quiz_round.id)
            # All this before the store gets to know somebody who can't come in.
            identity = request.state.identity
            if identity is None or room.participants.find(identity.id) is None:
                if room.state.locked:
                    raise BadInput("The host has locked this round: nobody new can join it now.")
                if identity is None and room.participants.count >= MOST_PLAYERS:
                    raise full(MOST_PLAYERS)
                who, joined_before = limits.Who(None, f"{quiz_round.id}/{address}"), room.participants.count_of(address)
                with limits.shared().participants.reserve(who, besides=joined_before):
                    player, secret = await run_in_threadpool(self._add, request, quiz_round.id, nickname)
            else:
                player, secret = await run_in_threadpool(self._add, request, quiz_round.id, nickname)
        except BadInput as error:
            return self.page(request, str(error), form, 409)
        if player.removed:
            return self.page(request, "The host removed you from this round; you can't join it again.", form, 403)
        room.join(player, address)
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
            limits.shared().same_person(identity, None, self.secret(request))
        return self.store.add_player(round_id, identity.id, nickname, most=MOST_PLAYERS), secret

    def page(self, request: Request, wrong: str, form: Mapping[str, str], status: int = 200, **more: str) -> Response:
        identity = request.state.identity
        if identity is not None and identity.role != "instructor":
            more["nickname"] = identity.nickname
        return super().page(request, wrong, form, status, **more)
