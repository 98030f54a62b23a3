"""Peer instruction: two votes on a question, of which nothing changes once it is closed."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.dashboard import Dashboard
from tests.web.quiz.players import Line, begin, join, line
from workshop.quiz.results import record as results_record
from workshop.store.records import QuizAnswer

PLAYERS = ("Ada", "Bob")
# Messages of learners: who, to which vote, and which answer.
MESSAGES = st.lists(
    st.tuples(st.sampled_from(PLAYERS), st.sampled_from(["one", "one#1", "one#2"]), st.sampled_from("abc")), max_size=4
)


def kept(dashboard: Dashboard, round_id: int) -> dict[tuple[str, str], str]:
    """The answers in the store: vote and learner -> option."""
    return {(answer.question, answer.nickname): "abc"[answer.answer] for answer in dashboard.store.answers(round_id)}


class Class:
    """Learners whose messages are answered before the next one is sent."""

    def __init__(self, lines: dict[str, Line]) -> None:
        self.lines = lines
        self.sent = 0

    def send(self, messages: list[tuple[str, str, str]]) -> dict[str, str]:
        """Send messages; learner -> first confirmed answer. A repeat of the first answer is confirmed, too."""
        confirmed: dict[str, str] = {}
        for nickname, vote, option in messages:
            self.sent += 1
            self.lines[nickname].answer(vote, option, ref=self.sent)
            told = self.lines[nickname].wait("confirmed", "refused", wanted=lambda told: told["ref"] == self.sent)
            if told["kind"] == "confirmed":
                assert confirmed.setdefault(nickname, option) == option
        return confirmed


def first_of(messages: list[tuple[str, str, str]], vote: str) -> dict[str, str]:
    """The first answer of each learner to a vote."""
    answers: dict[str, str] = {}
    for nickname, to, option in messages:
        if to == vote:
            answers.setdefault(nickname, option)
    return answers


@given(opening=MESSAGES, closed=MESSAGES, talking=MESSAGES, again=MESSAGES, closed_again=MESSAGES, explained=MESSAGES)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_closed_vote_never_changes(
    dashboard: Dashboard, opening: Any, closed: Any, talking: Any, again: Any, closed_again: Any, explained: Any
) -> None:
    record = begin(dashboard, vote_twice=True)
    visitors = {nickname: join(dashboard, record, nickname) for nickname in PLAYERS}
    with (
        line(visitors["Ada"], record) as ada,
        line(visitors["Bob"], record) as bob,
        line(dashboard.instructor(), record, "host") as host,
    ):
        learners = Class(dict(zip(PLAYERS, (ada, bob), strict=True)))
        host.do("next", "question")
        ada.phase("question"), bob.phase("question")
        assert learners.send(opening) == first_of(opening, "one")
        first = {("one", nickname): option for nickname, option in first_of(opening, "one").items()}
        shown = host.do("close", "closed")
        assert shown["distribution"] is None and "discuss" in shown["can"]
        assert learners.send(closed) == {} and kept(dashboard, record.id) == first
        host.do("discuss", "discussing")
        aside = {("one#1", nickname): option for (_, nickname), option in first.items()}
        assert learners.send(talking) == {} and kept(dashboard, record.id) == aside
        assert host.do("vote", "question")["question"]["id"] == "one#2"
        ada.phase("question"), bob.phase("question")
        assert learners.send(again) == first_of(again, "one#2")
        both = aside | {("one", nickname): option for nickname, option in first_of(again, "one#2").items()}
        host.do("close", "closed")
        assert learners.send(closed_again) == {} and kept(dashboard, record.id) == both
        told = host.do("explain", "explained")
        assert learners.send(explained) == {} and kept(dashboard, record.id) == both
        assert told["first"]["right"] == [
            sum(option == "a" for (vote, _), option in both.items() if vote == name) for name in ("one#1", "one")
        ]
        host.do("end", "ended")
    _check_marks(dashboard.store.answers(record.id))
    results = results_record.read(dashboard.store, record.id)
    assert len(results.first_votes) == len(first) and len(results.answers_to["one"]) == len(both) - len(first)


def _check_marks(answers: list[QuizAnswer]) -> None:
    """Only the second vote gives points; both are marked."""
    for answer in answers:
        right = answer.answer == 0
        assert (answer.right, answer.points) == (right, 2.0 * right * (answer.question == "one"))


def test_the_host_alone_sees_the_first_vote(dashboard: Dashboard) -> None:
    record = begin(dashboard, vote_twice=True)
    ada, bob = join(dashboard, record), join(dashboard, record, "Bob")
    with (
        line(ada, record) as a,
        line(bob, record) as b,
        line(dashboard.instructor(), record, "host") as host,
        line(dashboard.instructor(), record, "projector") as projector,
    ):
        host.do("next", "question")
        a.phase("question"), b.phase("question")
        a.answer("one", "a")
        a.wait("confirmed")
        b.answer("one", "b")
        b.wait("confirmed")
        host.do("close", "closed")
        first = host.wait("players", wanted=lambda told: told["first"] and told["first"]["right"] is not None)["first"]
        assert (first["right"], first["of"], first["talk"]) == (1, 2, True)
        assert a.phase("closed")["distribution"] is None and projector.phase("closed")["distribution"] is None
        host.do("discuss", "discussing")
        assert a.phase("discussing")["question"]["id"] == "one"
    with line(ada, record) as back:  # a page that is loaded again still has one's first answer
        assert back.wait("you")["answer"] == "a"
    standings = dashboard.store.quiz_standings()
    assert not [standing for standing in standings if standing.round_id == record.id], "a first vote counts nothing"


def test_a_poll_and_a_round_of_one_vote_have_no_second_vote(dashboard: Dashboard) -> None:
    record = begin(dashboard)
    with line(dashboard.instructor(), record, "host") as host:
        host.do("next", "question")
        closed = host.do("close", "closed")
        assert "discuss" not in closed["can"] and closed["distribution"] is not None
        host.say(kind="command", do="discuss", value=None, version=host.version)
        assert "can't vote twice" in host.wait("problem")["why"]
