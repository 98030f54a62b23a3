"""Two rounds that a class has played, and a server that has nothing but their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.quiz.results.kept import keep
from tests.quiz.results.rounds import whole_class
from tests.web.dashboard import Visitor
from tests.web.serving import served
from workshop.store.records import QuizRound
from workshop.store.store import Store
from workshop.web import auth, server
from workshop.web.auth_middleware import cookie_name
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
    with served(store, lambda port: [*results.routes(store), *server.artifact_routes(store)]) as port:
        yield Counted(store, port, this, before, secrets)
