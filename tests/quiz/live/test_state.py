"""How a round goes on: whatever hosts do, in whatever order and at whatever time."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workshop.core.errors import BadInput
from workshop.quiz import live
from workshop.quiz.live import RoundState

IDS = ["one", "guess", "three"]
SECONDS = [20.0, 30.0, 60.0]
MEASURED = "guess"
NAMES = [
    *("next", "close", "discuss", "vote", "pause", "resume", "extend", "reopen", "skip", "run", "explain", "ranking"),
    *("podium", "end"),
]


class Rounds(RuleBasedStateMachine):
    """Every command is tried at every point: it must do something just where `possible` says so."""

    def __init__(self) -> None:
        super().__init__()
        self.state = RoundState()
        self.now = 1000.0
        self.open = 0.0  # seconds that the question was open, counted beside
        self.given = 0.0  # seconds that it was given

    @property
    def question(self) -> str | None:
        return IDS[self.state.position] if self.state.position >= 0 else None

    def commands(self, seconds: float = 15.0) -> dict[str, Callable[[], RoundState]]:
        now, before = self.now, self.state
        return {
            "next": lambda: live.next_(before, IDS, SECONDS, now),
            "close": lambda: live.close(before, now),
            "discuss": lambda: live.discuss(before, self.question or "", now, seconds),
            "vote": lambda: live.vote_again(before, SECONDS[before.position], now),
            "pause": lambda: live.pause(before, now),
            "resume": lambda: live.resume(before, now),
            "extend": lambda: live.extend(before, seconds, now),
            "reopen": lambda: live.reopen(before, now, seconds),
            "skip": lambda: live.skip(before, IDS, SECONDS, now),
            "run": lambda: live.run(before, {"a": 7}),
            "explain": lambda: live.explain(before, self.question or ""),
            "ranking": lambda: live.ranking(before),
            "podium": lambda: live.podium(before),
            "end": lambda: live.end(before),
        }

    @rule(seconds=st.floats(0.001, 20))
    def time_goes_by(self, seconds: float) -> None:
        if self.state.phase == "question" and not self.state.paused:
            self.open += min(seconds, max((self.state.ends_at or 0) - self.now, 0))
        self.now += seconds

    @rule()
    def the_clock_closes(self) -> None:
        if live.due(self.state, self.now):
            self.state = live.close(self.state, self.now)

    @rule(name=st.sampled_from(NAMES), seconds=st.floats(1, 60))
    def the_host_clicks(self, name: str, seconds: float) -> None:
        if name == "end" and self.state.version < 12:
            return  # or most rounds would be short
        before = self.state
        can = live.possible(before, measured=self.question == MEASURED, ranked=True, last=False, twice=True)
        late = live.due(before, self.now) or (before.ends_at == self.now and before.phase == "question")
        try:
            after = self.commands(seconds)[name]()
        except BadInput as error:
            assert str(error).endswith(".")
            assert name not in can or (late and name in ("pause", "extend"))
            return
        if name == "explain" and self.question == MEASURED:
            return  # its truth is missing; who calls sees to it
        if name == "run" and self.question != MEASURED:
            return
        assert name in can
        assert after.version == before.version + 1
        self._count(name, before, after, seconds)
        self.state = after

    def _count(self, name: str, before: RoundState, after: RoundState, seconds: float) -> None:
        if after.phase == "question" and (after.position, after.vote) != (before.position, before.vote):
            self.open, self.given = 0.0, SECONDS[after.position]
        elif name in ("extend", "reopen"):
            self.given = seconds + (self.given if name == "extend" else self.open)

    @precondition(lambda self: self.state.phase == "measuring")
    @rule(worked=st.booleans(), value=st.floats(0, 10))
    def runs_end(self, worked: bool, value: float) -> None:
        if worked:
            self.state = live.explain(self.state, MEASURED, {"value": value, "words": "run 7"})
            assert self.state.truths[MEASURED]["value"] == value
        else:
            self.state = live.failed(self.state, "It failed.")
            with pytest.raises(BadInput):
                live.explain(self.state, MEASURED)

    @invariant()
    def what_is_kept_is_the_same_state(self) -> None:
        assert RoundState.from_json(json.loads(json.dumps(self.state.as_json()))) == self.state

    @invariant()
    def questions_are_asked_once_and_in_order(self) -> None:
        dealt_with = [*self.state.done, *self.state.skipped]
        assert len(dealt_with) == len(set(dealt_with)) <= self.state.position + 1
        assert sorted(dealt_with, key=IDS.index) == IDS[: len(dealt_with)]

    @invariant()
    def a_question_has_two_votes_at_most(self) -> None:
        assert len(set(self.state.voted_twice)) == len(self.state.voted_twice)
        assert self.state.vote == 1 or self.question in self.state.voted_twice

    @invariant()
    def answers_are_taken_while_a_question_is_open(self) -> None:
        one = self.state
        assert (one.paused_at is None) == (one.left is None)
        if one.phase != "question" or one.paused:
            assert not one.accepts(self.now)
            return
        assert one.ends_at is not None
        assert one.accepts(one.ends_at), "the last moment counts"
        assert not one.accepts(one.ends_at + 1e-3)
        assert one.accepts(self.now) == (self.now <= one.ends_at)
        if self.now <= one.ends_at:
            assert one.seconds(self.now) == pytest.approx(self.open, abs=1e-3)
            assert one.ends_at - self.now == pytest.approx(self.given - self.open, abs=1e-3)


TestRounds = Rounds.TestCase
TestRounds.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def opened() -> RoundState:
    return live.next_(RoundState(), IDS, SECONDS, 100.0)


def test_a_paused_question_keeps_the_time_it_has_left() -> None:
    paused = live.pause(opened(), 105.0)
    assert (paused.left, paused.ends_at) == (15.0, None)
    assert not paused.accepts(105.0)
    longer = live.extend(paused, 10, 300.0)
    again = live.resume(longer, 1000.0)
    assert (again.ends_at, again.seconds(1002.0)) == (1025.0, 7.0)


def test_a_second_vote_has_a_name_of_its_own() -> None:
    talk = live.discuss(live.close(opened(), 110.0), "one", 111.0, 60)
    assert (talk.phase, talk.ends_at, live.extend(talk, 15, 300.0).ends_at) == ("discussing", 171.0, 315.0)
    again = live.vote_again(talk, 20.0, 180.0)
    assert (again.phase, again.ends_at, again.seconds(185.0)) == ("question", 200.0, 5.0)
    assert [live.ballot("one", at.vote) for at in (talk, again)] == ["one", "one#2"]
    with pytest.raises(BadInput, match="voted twice"):
        live.discuss(live.close(again, 190.0), "one", 191.0)
    assert live.skip(again, IDS, SECONDS, 195.0).vote == 1


def test_a_closed_question_is_opened_for_the_rest_until_it_is_explained() -> None:
    closed = live.close(opened(), 110.0)
    again = live.reopen(closed, 200.0, 30)
    assert (again.phase, again.ends_at, again.seconds(205.0)) == ("question", 230.0, 15.0)
    explained = live.explain(closed, "one")
    with pytest.raises(BadInput, match="everybody has seen the answer"):
        live.reopen(explained, 200.0)


def test_behind_the_last_question_is_the_podium() -> None:
    now = opened()
    for _ in IDS:
        now = live.skip(now, IDS, SECONDS, 100.0)
    assert (now.phase, now.skipped, now.done) == ("podium", tuple(IDS), ())
    with pytest.raises(BadInput, match="podium is shown"):
        live.next_(now, IDS, SECONDS, 100.0)


@pytest.mark.parametrize("seconds", [0, -5, True, "30", None, 1e9, float("nan")])
def test_times_that_are_none(seconds: object) -> None:
    with pytest.raises(BadInput):
        live.extend(opened(), seconds, 101.0)  # what a host's browser sent may be anything
