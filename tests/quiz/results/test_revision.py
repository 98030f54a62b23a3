"""What is said of a class: questions to go over again, who may need help, the verdict, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.quiz.results.rounds import DECK, deck, made, marks, whole_class
from workshop.quiz.results.comparison import compare
from workshop.quiz.results.findings import RevisionItem, find, help_wanted, learners, revision_items
from workshop.quiz.results.items import items
from workshop.quiz.results.record import Results


def over(results: Results) -> tuple[RevisionItem, ...]:
    return revision_items(results, items(results))


def kinds(results: Results, id: str) -> list[str]:
    return next(([reason.kind for reason in one.reasons] for one in over(results) if one.id == id), [])


def test_where_nothing_is_to_be_said_nothing_is() -> None:
    results = marks([[1, 1, 1]] * 9 + [[1, 0, 1]])
    assert over(results) == ()
    assert find(results).verdict["next"] == "No question needs to be gone over again."


def test_a_misconception_that_many_share_comes_with_what_to_say() -> None:
    results = made(DECK, [{"sum": 16.0}] * 6 + [{"sum": 2.0}] * 4)
    one = next(one for one in over(results) if one.id == "sum")
    (reason,) = one.reasons
    assert (one.number, reason.kind) == (2, "misconception")
    assert reason.words == "4 of 10 gave the same wrong answer: 2."
    assert reason.say == "That is what it had before; the sum reaches every rank."


def test_a_poll_is_nothing_to_go_over_again_however_slow() -> None:
    results = made(DECK, [{"like": 0, "steps": [0, 2, 1, 3]}, {"like": 1, "steps": [0, 2, 1, 3]}])
    assert kinds(timed(results, 60.0, "like"), "like") == []
    order = next(one for one in over(results) if one.id == "steps").reasons[0]
    assert order.words == "2 of 2 gave the same wrong answer: 1 → 3 → 2 → 4 (as numbered in the right order)."


def test_few_right_and_guessed() -> None:
    rows: list[dict[str, Any]] = [{"q1": place % 4} for place in range(12)]
    assert kinds(made(deck(1), rows), "q1") == ["few", "guessed"]
    assert kinds(made(deck(1), [{"q1": 1}, {"q1": 2}]), "q1") == ["few"], "of two, nobody can tell who guessed"


def test_a_question_that_the_best_get_wrong() -> None:
    results = marks([[1, 1, 0]] * 4 + [[0, 0, 1]] * 6)
    assert "best" in kinds(results, "q3")
    assert "best" not in kinds(marks([[1, 1, 1]] * 4 + [[0, 0, 0]] * 6), "q3")


def timed(results: Results, seconds: float, id: str) -> Results:
    answers = tuple(replace(one, seconds=seconds if one.question == id else 5.0) for one in results.answers)
    return replace(results, answers=answers)


def test_slow_is_by_the_limit_or_by_the_other_questions() -> None:
    results = marks([[1, 1, 1, 1]] * 4)
    assert kinds(timed(results, 55.0, "q2"), "q2") == ["slow"], "of a limit of 60 s"
    assert kinds(timed(results, 40.0, "q2"), "q2") == []
    alone = replace(results, timed=False)
    assert kinds(timed(alone, 40.0, "q2"), "q2") == ["slow"]
    assert kinds(timed(alone, 9.0, "q2"), "q2") == []


def test_a_question_that_many_missed() -> None:
    results = made(deck(2), [{"q1": 0, "q2": 0}] * 2 + [{"q1": 0}] * 4)
    assert kinds(results, "q2") == ["missed"]
    assert kinds(replace(results, timed=False), "q2") == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), max_size=12))
def test_the_neediest_question_comes_first_and_each_has_a_reason(rows: list[list[int]]) -> None:
    found = over(marks(rows))
    assert [one.need for one in found] == sorted((one.need for one in found), reverse=True)
    assert all(reason.words.endswith(".") for one in found for reason in one.reasons)
    assert all(one.reasons for one in found)


def test_learners_have_points_time_and_tags() -> None:
    rows: list[dict[str, Any]] = [{"world": 0, "sum": 16.0, "true": [0], "like": 1}, {"world": 1, "sum": 16.0}, {}]
    first, second, third = learners(replace(made(DECK, rows), absent={"world": frozenset({3})}))
    assert (first.points, first.possible, first.share) == (3.5, 7.0, 0.5)
    assert (first.right, first.judged, first.answered, first.there) == (2, 3, 4, 7)
    assert (first.wrong, first.missed) == (("true",), ("steps", "who", "word"))
    assert {tag.name: (tag.questions, tag.mark) for tag in first.tags} == {
        "mpi": (2, 1.0),
        "collectives": (2, 0.5),
        "training": (2, 0.25),
    }
    assert (second.place, second.points, second.wrong) == (2, 2.0, ("world",))
    assert (third.place, third.points, third.late, third.there) == (3, 0.0, ("world",), 6)
    assert third.seconds is None


def test_equal_points_share_a_place() -> None:
    assert [one.place for one in learners(marks([[1, 0], [1, 1], [0, 1], [0, 0]]))] == [1, 2, 2, 4]


def test_who_may_need_help_is_said_carefully() -> None:
    rows = [[1, 1, 1, 1]] * 7 + [[1, 0, 0, 0]]
    (one,) = help_wanted(learners(marks(rows)))
    assert one.words == "learner 8 has 25 % of the marks."
    silent = made(deck(4), [{f"q{n}": 0 for n in range(1, 5)}] * 3 + [{"q1": 0}])
    (one,) = help_wanted(learners(silent))
    assert "perhaps something kept them from answering" in one.words
    assert help_wanted(learners(marks([[0, 0]] * 8))) == (), "two questions are no measure of anybody"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "Nobody took part"),
        ([[1, 1]], "This learner knows nearly all of this: 100 % of the marks"),
        ([[1, 1], [0, 1]], "This group knows most of this: 75 % of the marks"),
        ([[0, 1]] * 6, "The class knows about half of this: 50 % of the marks"),
        ([[0, 0]] * 6, "The class does not know most of this yet: 0 % of the marks"),
    ],
)
def test_the_verdict_speaks_of_whom_there_is(rows: Sequence[Sequence[int]], told: str) -> None:
    found = find(marks(rows)).verdict
    assert found["verdict"] == told
    assert ("says little" in found["why"]) == (0 < len(rows) < 5)


def test_a_round_without_marks_has_a_verdict_too() -> None:
    assert find(made(DECK, [{}, {}])).verdict["verdict"] == "Nobody answered"
    assert find(made(DECK, [{"like": 0}, {"like": 1}])).verdict["verdict"] == "There are answers, but no marks"


def test_before_and_after_are_compared_for_those_who_did_both() -> None:
    before = replace(marks([[0, 1], [0, 1], [1, 1], [0, 0]]), round=1)
    after = replace(marks([[1, 1], [1, 0], [1, 1]]), round=2)
    found = compare(before, after)
    assert (found.before, found.after, found.both) == (1, 2, 3)
    first, second = found.changes
    assert (first.before, first.after, first.of, first.gained, first.lost) == (1, 3, 3, 2, 0)
    assert first.change == pytest.approx(2 / 3)
    assert first.chance == pytest.approx(0.5)
    assert "chance alone may do that" in first.words
    assert (second.gained, second.lost) == (0, 1)
    sure = compare(replace(marks([[0]] * 9), round=1), marks([[1]] * 9)).changes[0]
    assert sure.words == "9 got it right that hadn't before, 0 the other way round: more than chance alone does."


def test_strangers_and_other_decks_are_not_compared() -> None:
    others = tuple(replace(player, identity_id=None) for player in marks([[1]]).players)
    alone = compare(replace(marks([[1]]), players=others), marks([[1]]))
    assert alone.both == 0
    assert alone.changes[0].words == "Nobody answered it in both rounds."
    assert "Nobody took part in both rounds" in alone.notes[0]
    assert "no question in common" in compare(whole_class(3), marks([[1]])).notes[0]
