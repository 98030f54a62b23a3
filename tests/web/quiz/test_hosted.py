"""Two dashboards on one store: a round is hosted by one of them, and by the other one when the first is dead."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from benchmarks.dashboard import served
from tests.support import starts_processes, until
from tests.web.dashboard import Dashboard, Visitor
from tests.web.quiz.players import PATIENCE, Line, begin, join, line
from workshop.core.errors import BadInput
from workshop.store.records import QuizRound
from workshop.store.sessions import SILENT
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.auth_middleware import cookie_name
from workshop.web.quiz import rooms
from workshop.web.quiz.client import DONT_COME_BACK


@pytest.fixture
@starts_processes
def two(store: Store, workshop_home: Path) -> Iterator[tuple[Dashboard, Dashboard]]:
    with served() as (first, port), served() as (second, other):
        yield Dashboard(store, first, port), Dashboard(store, second, other)


def at(dashboard: Dashboard, visitor: Visitor) -> Visitor:
    """The same person at another dashboard of the store."""
    return Visitor(dashboard.port, f"{cookie_name(dashboard.port)}={visitor.cookie.partition('=')[2]}")


def place(dashboard: Dashboard) -> str:
    return f"process {dashboard.process.pid} on {socket.gethostname()}"


def refused(visitor: Visitor, record: QuizRound, view: str) -> str:
    """What somebody is told who can't be in the round here, and whose browser doesn't try again."""
    with visitor.listen(f"/quiz/{record.id}/socket?view={view}") as connection:
        told = json.loads(connection.recv(timeout=PATIENCE))
        assert closed_for_good(connection)
    assert told["kind"] == "problem"
    return told["why"]


def closed_for_good(connection: ClientConnection) -> str:
    """The reason of a close that is meant to last."""
    with pytest.raises(ConnectionClosed) as closed:
        while True:
            connection.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == DONT_COME_BACK
    return closed.value.rcvd.reason


@contextmanager
def going(first: Dashboard, record: QuizRound, ada: Visitor, host: Visitor) -> Iterator[tuple[Line, Line]]:
    """A round at this dashboard, at its first question: its host's line, and that of Ada, who has answered."""
    with line(at(first, host), record, "host") as asks, line(ada, record) as answers:
        asks.do("next", "question")
        answers.phase("question")
        answers.answer("one", "b")
        answers.wait("confirmed")
        yield asks, answers


def test_data_that_are_removed_at_one_dashboard_are_gone_from_the_room_at_the_other(
    two: tuple[Dashboard, Dashboard],
) -> None:
    first, second = two
    record, host = begin(first), second.instructor()
    ada, bob = join(first, record), join(first, record, "Bob")
    with going(first, record, ada, host) as (h, a), line(bob, record) as b:
        me = a.has("you")["id"]
        assert host.post(f"/quiz/{record.id}/forget", {"player": str(me), "sure": "yes"}).status in (200, 303)
        assert "were removed" in a.wait("removed")["why"]
        h.wait("players", wanted=lambda told: [one["nickname"] for one in told["players"]] == ["Bob"])
        assert [one["count"] for one in h.do("close", "closed")["distribution"]["options"]] == [0, 0, 0]
        b.phase("closed")


def test_a_round_has_one_host_until_that_one_is_killed(two: tuple[Dashboard, Dashboard], store: Store) -> None:
    first, second = two
    record, host = begin(first), second.instructor()
    ada = join(first, record)
    with going(first, record, ada, host) as (h, _):
        for view in ("host", "projector", "player"):
            who = ada if view == "player" else host
            assert f"hosted by another dashboard, {place(first)}: open it there" in refused(
                at(second, who), record, view
            )
        stranger = second.stranger()
        answer = stranger.post("/quiz", {"code": record.code or "", "nickname": "Bob"})
        assert (answer.status, stranger.cookie) == (409, "") and place(first) in answer.text
        with pytest.raises(BadInput, match="hosted by another dashboard"):
            rooms.end_round(store, auth.let_in(store, "instructor", "Instructor")[0], record.id)
        assert [one.nickname for one in store.players(record.id)] == ["Ada"]
        h.do("pause", "question")  # nobody there noticed anything
        h.do("resume", "question")
        first.process.kill()
    with line(at(second, ada), record) as a, line(at(second, host), record, "host") as h:
        assert (a.heard[-1]["phase"], a.wait("you")["answer"]) == ("question", "b")
        join(second, record, "Bob")
        assert h.do("close", "closed")["answered"] == 1
        h.do("end", "ended")
    until(lambda: store.take_room(record.id, "somebody", "here") is None, 0.8 * SILENT, "the hold to be let go")
