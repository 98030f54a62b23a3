"""Rounds whose answer is measured: everybody guesses, the host runs it on a real session, and the truth comes with the
guesses; also when the dashboard is killed while it runs. Answers are written together, and one may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.dashboard import served
from tests.support import starts_processes, until
from tests.web.dashboard import Dashboard
from tests.web.quiz.players import Line, begin, join, line
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.records import QuizAnswer, SessionRecord
from workshop.store.store import Store
from workshop.web.quiz.rounds import AnswerWriter

pytestmark = pytest.mark.real
DECK = """
deck: guesses
title: Guesses
seconds: 600
questions:
- id: rounds
  type: predict
  text: "How many times does it go on?"
  truth: a.iterations
  unit: iterations
  tolerance: {absolute: 1}
  runs: {a: {workload: kmeans, params: {data: blobs, points: 2000, features: 2, clusters: 3, iterations: 3,
    tolerance: 0, pace: PACE}, placement: {ranks: 1}}}
- id: broken
  type: predict
  text: "What comes of it?"
  truth: a.nonsense
  runs: {a: {workload: kmeans, params: {data: blobs, points: 2000, features: 2, clusters: 3, iterations: 1},
    placement: {ranks: 1}}}
"""


@pytest.fixture
@starts_processes
def dashboard(store: Store, workshop_home: Path) -> Iterator[Dashboard]:
    with served() as (process, port):
        yield Dashboard(store, process, port)


@pytest.fixture
@starts_processes
def up(store: Store, dashboard: Dashboard) -> Iterator[SessionRecord]:
    session, conductor = lifecycle.start_session(store, "class", Placement(ranks=1), attached=True)
    try:
        yield lifecycle.wait_ready(store, session, conductor)
    finally:
        lifecycle.end_conductor(conductor)


def to_closed(host: Line, learners: list[tuple[Line, float]], question: str) -> None:
    host.do("next", "question")
    for learner, guess in learners:
        learner.wait("state", wanted=lambda state: state["question"] and state["question"]["id"] == question)
        learner.answer(question, guess)
        learner.wait("confirmed")
    assert host.do("close", "closed")["distribution"] is None, "guesses come with the truth"


def test_without_a_session_it_says_to_start_one(dashboard: Dashboard) -> None:
    record = begin(dashboard, DECK.replace("PACE", "0"))
    with line(dashboard.instructor(), record, "host") as h:
        to_closed(h, [], "rounds")
        assert h.heard[-1]["can"] == ["run", "reopen", "skip", "end"]
        for command, why in (("run", "start one"), ("explain", "has to be measured")):
            h.say(kind="command", do=command, version=h.version)
            assert why in h.wait("problem")["why"]
        h.do("skip", "question")


def test_the_truth_comes_with_the_guesses(dashboard: Dashboard, up: SessionRecord) -> None:
    record = begin(dashboard, DECK.replace("PACE", "0.2"))
    with (
        line(join(dashboard, record), record) as a,
        line(join(dashboard, record, "Bob"), record) as b,
        line(dashboard.instructor(), record, "host") as h,
    ):
        to_closed(h, [(a, 3), (b, 7)], "rounds")
        measuring = h.do("run", "measuring")["measuring"]
        assert measuring["problem"] is None and "run 1" in measuring["words"]
        until(lambda: dashboard.store.runs(), 60, "the run")
        explained = a.phase("explained")
        assert explained["truth"]["value"] == 3.0 and explained["truth"]["unit"] == "iterations"
        assert explained["distribution"] == {"type": "numbers", "values": [3.0, 7.0]}
        assert a.wait("you", wanted=lambda you: you["mark"])["mark"] | {"feedback": []} == {
            "right": True,
            "share": 1.0,
            "points": 1.0,
            "feedback": [],
        }
        assert b.wait("you", wanted=lambda you: you["mark"])["mark"]["share"] == pytest.approx(0.25)
        h.phase("explained")
        to_closed(h, [(a, 3)], "broken")
        h.do("run", "measuring")
        failed = h.wait("state", wanted=lambda state: state["measuring"] and state["measuring"]["problem"])
        assert "nonsense" in failed["measuring"]["problem"] and failed["can"] == ["run", "skip", "end"]
        assert h.do("skip", "podium")["ranking"][0]["nickname"] == "Ada"
    assert [one.points for one in dashboard.store.answers(record.id, "broken")] == [None]


@pytest.mark.exhaustive
def test_a_dashboard_that_was_killed_goes_on_measuring(dashboard: Dashboard, up: SessionRecord) -> None:
    record, host = begin(dashboard, DECK.replace("PACE", "1.5")), dashboard.instructor()
    ada = join(dashboard, record)
    with line(ada, record) as a, line(host, record, "host") as h:
        to_closed(h, [(a, 3)], "rounds")
        h.do("run", "measuring")
        dashboard.process.kill()
        until(lambda: not dashboard.process.is_running() or dashboard.process.status() == "zombie", 20, "its end")
    with served(dashboard.port), line(ada, record) as a:
        if a.heard[-1]["phase"] == "measuring":
            a.phase("explained")
        assert a.heard[-1]["truth"]["value"] == 3.0
        assert a.wait("you", wanted=lambda you: you["mark"])["points"] == 1.0
    assert len(dashboard.store.runs()) == 1, "nothing was run again"


def answers(store: Store, players: int) -> list[QuizAnswer]:
    made = store.add_round("live", {"deck": "try", "title": "Try"}, code="ABCDEF")
    who = [store.add_player(made.id, None, f"P{number}").id for number in range(players)]
    return [QuizAnswer(made.id, "one", player, "", "a", 1.0, 1.0) for player in who]


def written(store: Store, given: list[QuizAnswer]) -> list[bool | None]:
    told: list[bool | None] = []

    async def work() -> None:
        writer = AnswerWriter(store)
        for one in given:
            writer.put(one, told.append)
        await writer.flush()
        assert len(told) == len(given), "all are told when it is done"
        await writer.flush()

    asyncio.run(work())
    return told


def test_each_is_told_in_turn(store: Store) -> None:
    given = answers(store, 40)
    assert written(store, [*given, given[0]]) == [True] * 40 + [False]
    assert len(store.answers()) == 40


def test_one_that_can_not_be_kept_is_nobody_elses_problem(store: Store) -> None:
    given = answers(store, 3)
    lost = QuizAnswer(given[0].round_id, "one", 999, "", "a", 1.0, 1.0)
    assert written(store, [given[0], lost, *given[1:]]) == [True, None, True, True]


def test_a_store_that_is_full_is_told(store: Store) -> None:
    class Full:
        def keep_answers(self, _: list[QuizAnswer]) -> list[bool]:
            raise WorkshopError("The store has no room left.")

    full: Store = Full()
    assert written(full, answers(store, 2)) == [None, None]
