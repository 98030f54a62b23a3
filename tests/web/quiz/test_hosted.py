"""Two dashboards on one store: each follows what the other one writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.dashboard import served
from tests.support import starts_processes
from tests.web.dashboard import Dashboard, Visitor
from tests.web.quiz.players import Line, begin, join, line
from workshop.store.records import QuizRound
from workshop.store.store import Store
from workshop.web.auth_middleware import cookie_name


@pytest.fixture
@starts_processes
def two(store: Store, workshop_home: Path) -> Iterator[tuple[Dashboard, Dashboard]]:
    with served() as (first, port), served() as (second, other):
        yield Dashboard(store, first, port), Dashboard(store, second, other)


def at(dashboard: Dashboard, visitor: Visitor) -> Visitor:
    """The same person at another dashboard of the store."""
    return Visitor(dashboard.port, f"{cookie_name(dashboard.port)}={visitor.cookie.partition('=')[2]}")


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


def test_a_round_goes_on_at_the_other_dashboard(two: tuple[Dashboard, Dashboard]) -> None:
    first, second = two
    record, host = begin(first), second.instructor()
    ada = join(first, record)
    with going(first, record, ada, host) as (h, _), line(at(second, host), record, "host") as other:
        assert other.heard[-1]["phase"] == "question"
        h.do("close", "closed")
        assert other.phase("closed")["answered"] == 1
        first.process.kill()
    with line(at(second, ada), record) as a, line(at(second, host), record, "host") as h:
        assert (a.heard[-1]["phase"], a.wait("you")["answer"]) == ("closed", "b")
        h.do("explain", "explained")
        assert a.wait("you", wanted=lambda you: you["mark"] is not None)["mark"]["right"] is False
        h.do("end", "ended")
