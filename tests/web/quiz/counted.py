"""Two rounds that a class has played, and a server that has nothing but their results."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware

from tests.quiz.results.kept import keep
from tests.quiz.results.rounds import whole_class
from tests.support import limit, until
from tests.web.dashboard import Visitor
from workshop.core.ports import free_port
from workshop.store.records import QuizRound
from workshop.store.store import Store
from workshop.web import artifacts, auth
from workshop.web.auth_middleware import AuthMiddleware, cookie_name
from workshop.web.quiz import results

LEARNERS = 12


@dataclass
class Counted:
    """A round that has ended, and the one before it, in which the same people took part."""

    store: Store
    port: int
    round: QuizRound
    before: QuizRound
    secrets: dict[str, str]

    def visitor(self, nickname: str) -> Visitor:
        return Visitor(self.port, f"{cookie_name(self.port)}={self.secrets[nickname]}")


@contextmanager
def counted(store: Store) -> Iterator[Counted]:
    played = whole_class(LEARNERS)
    people, secrets = {}, {}
    for role, name in (("instructor", "Instructor"), *(("player", player.nickname) for player in played.players)):
        people[name], secrets[name] = auth.let_in(store, role, name)
    before, this = keep(store, whole_class(LEARNERS, 5), people), keep(store, played, people)
    port = free_port()
    routes = [*results.routes(store), *artifacts.routes(store)]
    app = Starlette(routes=routes, middleware=[Middleware(AuthMiddleware, store=store, port=port)])
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started, 20, "the server")
        yield Counted(store, port, this, before, secrets)
    finally:
        server.should_exit = True
        thread.join(limit(20))
        assert not thread.is_alive()
