"""kill -9 of the dashboard in the middle of a round: it goes on where it was, with every answer that was confirmed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.dashboard import served
from tests.support import starts_processes, until
from tests.web.dashboard import Dashboard, Visitor
from tests.web.quiz.players import DECK, Line, begin, join, line
from workshop.store.records import QuizRound
from workshop.store.store import Store

LEARNERS = 12


@pytest.fixture
@starts_processes
def dashboard(store: Store, workshop_home: Path) -> Iterator[Dashboard]:
    with served() as (process, port):
        yield Dashboard(store, process, port)


def kill(dashboard: Dashboard) -> None:
    dashboard.process.kill()
    until(lambda: not dashboard.process.is_running() or dashboard.process.status() == "zombie", 20, "its end")


def test_the_round_goes_on(dashboard: Dashboard) -> None:
    record, host = begin(dashboard), dashboard.instructor()
    visitors = [join(dashboard, record, f"Learner {number}") for number in range(LEARNERS)]
    confirmed = answer_until_killed(dashboard, record, host, visitors)
    assert {one.player_id: one.answer for one in dashboard.store.answers(record.id)}.items() >= confirmed.items()
    with served(dashboard.port), ExitStack() as stack:
        lines = [stack.enter_context(line(visitor, record)) for visitor in visitors]
        for one in lines:
            assert one.heard[-1]["phase"] == "question" and one.heard[-1]["question"]["id"] == "one"
            you = one.wait("you")
            if you["id"] in confirmed:
                assert (you["answer"], you["confirmed"]) == ("abc"[confirmed[you["id"]]], True)
            one.answer("one", you["answer"] or "c")  # what a browser does that isn't sure
            one.wait("confirmed")
        h = stack.enter_context(line(host, record, "host"))
        h.do("close", "closed")
        explained = h.do("explain", "explained")
        assert sum(option["count"] for option in explained["distribution"]["options"]) == LEARNERS
        for one in lines:
            mine = one.wait("you", wanted=lambda you: you["mark"] is not None)
            assert mine["mark"]["right"] == (mine["answer"] == "a")
    with served(dashboard.port) as (again, _), line(visitors[0], record) as back:
        assert back.heard[-1]["phase"] == "explained" and again.is_running()
        assert back.wait("you")["mark"] is not None


def answer_until_killed(
    dashboard: Dashboard, record: QuizRound, host: Visitor, visitors: list[Visitor]
) -> dict[int, int]:
    """Have half of them confirmed, and kill the server while the others' answers are on their way; what was
    confirmed."""
    confirmed: dict[int, int] = {}
    with ExitStack() as stack:
        lines: list[Line] = [stack.enter_context(line(visitor, record)) for visitor in visitors]
        me = [one.wait("you")["id"] for one in lines]
        with line(host, record, "host") as h:
            h.do("next", "question")
        for number, one in enumerate(lines):
            one.phase("question")
            one.answer("one", "abc"[number % 3])
            if number < LEARNERS // 2:
                one.wait("confirmed")
                confirmed[me[number]] = number % 3
        kill(dashboard)
    return confirmed


def test_time_that_was_up_meanwhile_is_up_and_a_pause_goes_on(dashboard: Dashboard) -> None:
    short = begin(dashboard, DECK.replace("seconds: 600", "seconds: 5"))
    paused, host = begin(dashboard), dashboard.instructor()
    late = join(dashboard, short)
    with line(host, short, "host") as h, line(host, paused, "host") as other:
        h.do("next", "question")
        other.do("next", "question")
        left = other.do("pause", "question")["left"]
        kill(dashboard)
    ends_at = dashboard.store.round(short.id).state["ends_at"]
    with served(dashboard.port):
        with line(late, short) as one:
            if one.heard[-1]["phase"] == "question":
                one.phase("closed")
            assert one.heard[-1]["now"] >= ends_at
            one.answer("one", "a")
            assert one.wait("refused")["why"] == "The question is closed."
        with line(host, paused, "host") as other:
            assert other.heard[-1]["left"] == left
            other.do("resume", "question")
