"""Where learners stand: what is right, how long it took, whose quizzes are whose, and who is stuck on what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.course.progress import Class, LearnerProgress, Outline, QuizProgress, Stuck, class_progress
from workshop.store.records import LabProgress

NOW = 1_000_000.0
FIRST = Outline("first", "First contact", 0, ("whoami", "mine"), "ranks")
KMEANS = Outline("kmeans", "Distributed k-means", 1, ("shard",), "kmeans")
COURSE = (FIRST, KMEANS)


def row(learner: str, lab: str, item: str, ago: float = 60, **given: Any) -> LabProgress:
    """A row that changed some seconds before NOW; an exercise by default."""
    values = {"kind": "exercise", "state": "", "tries": 0, "wrong": 0, "said": "", "value": None, "right_at": None}
    values |= {"began_at": NOW - ago, "changed_at": NOW - ago}
    return LabProgress(learner=learner, lab=lab, item=item, **{**values, **given})


def right(lab: str, item: str, ago: float = 60, learner: str = "ada") -> LabProgress:
    return row(learner, lab, item, ago, state="right", tries=1, right_at=NOW - ago)


def wrong(lab: str, item: str, times: int, ago: float = 60, learner: str = "ada", **given: Any) -> LabProgress:
    return row(learner, lab, item, ago, **{"state": "hint", "tries": times, "wrong": times, "said": "Look.", **given})


def opened(lab: str, ago: float = 60, learner: str = "ada") -> LabProgress:
    return row(learner, lab, "", ago, kind="notebook")


def quiz(nickname: str, deck: str = "ranks", **given: Any) -> QuizProgress:
    values = {"kind": "live", "own": True, "right": 3.0, "questions": 4, "answered": 4, "at": NOW - 30, **given}
    return QuizProgress(deck=deck, nickname=nickname, **values)


def stand(
    *rows: LabProgress, quizzes: Iterable[QuizProgress] = (), now: float = NOW, labs: tuple[Outline, ...] = COURSE
) -> Class:
    return class_progress(labs, rows, quizzes, now)


def ada(*rows: LabProgress, **given: Any) -> LearnerProgress:
    return next(learner for learner in stand(*rows, **given).learners if learner.name == "ada")


def stuck(*rows: LabProgress, **given: Any) -> Stuck | None:
    return ada(*rows, **given).stuck


def test_exercises_in_the_labs_order_and_how_many_are_right() -> None:
    first, kmeans = ada(wrong("first", "mine", 2), right("first", "whoami")).labs
    assert [(one.id, one.mark, one.tries) for one in first.exercises] == [("whoami", "right", 1), ("mine", "wrong", 2)]
    assert (first.solved, first.finished, first.at_it) == (1, False, True)
    assert (kmeans.solved, kmeans.finished, kmeans.begun, kmeans.exercises[0].mark) == (0, False, False, "none")
    solved = wrong("first", "mine", 3, right_at=NOW - 500)
    assert ada(solved, right("first", "whoami")).labs[0].finished, "right once is right"


def test_a_lab_and_an_exercise_that_are_gone_stay_visible() -> None:
    found = stand(right("old", "gone"), wrong("old", "lost", 9), right("first", "former"))
    assert [(lab.name, lab.number) for lab in found.labs] == [("first", 0), ("kmeans", 1), ("old", None)]
    assert [one.id for one in found.learners[0].labs[0].exercises] == ["whoami", "mine", "former"]
    assert [one.id for one in found.learners[0].labs[2].exercises] == ["gone", "lost"]
    assert found.learners[0].stuck is None, "nobody can help there"


def test_the_last_thing_done() -> None:
    rows = [
        opened("first", 900),
        row("ada", "first", "speed", 300, kind="prediction", value={"guess": 1.8, "measured": 1.6}),
        wrong("first", "mine", 1, 200),
        opened("kmeans", 100),
        right("kmeans", "shard", 50),
    ]
    assert [ada(*rows[:end]).last.last for end in range(1, 6)] == [
        "opened the lab",
        "measured speed",
        "checked mine, not right",
        "opened the lab",
        "checked shard, which is right",
    ]
    last = ada(*rows).last
    assert last is not None and (last.lab.name, last.last_at) == ("kmeans", NOW - 50)
    (guess,) = ada(*rows).labs[0].predictions
    assert (guess.id, guess.guess, guess.measured) == ("speed", 1.8, 1.6)
    odd = ada(row("ada", "first", "odd", kind="prediction"), quizzes=[quiz("ada", at=NOW)])
    assert (odd.labs[0].predictions[0].guess, odd.labs[0].last) == (None, "answered the quiz")


def test_minutes_leave_breaks_out() -> None:
    rows = [
        opened("first", 7200),
        right("first", "whoami", 7200 - 600),
        right("first", "mine", 120),
        opened("kmeans", 0),
    ]
    assert ada(*rows).labs[0].minutes == pytest.approx(10), "the long way to the second one was a break"


def test_learners_of_the_roster_are_there_before_they_begin_anything() -> None:
    rows = [opened("first", learner="Ada")]
    progress = class_progress(COURSE, rows, (), NOW, roster=["ada", "Ben"])
    assert [(learner.name, learner.last is not None) for learner in progress.learners] == [
        ("Ada", True),
        ("Ben", False),
    ]


def test_quizzes_belong_to_those_whose_names_read_alike() -> None:
    rows = [opened("first", learner="Zoë"), opened("first", learner="ada"), opened("first", learner="ADA")]
    quizzes = [quiz(" zoe\u0308 "), quiz("ADA", right=1.0), quiz("Ada", kind="alone"), quiz("Eve"), quiz("ada", "none")]
    found = stand(*rows, quizzes=quizzes)
    of = {one.name: [(quiz.kind, quiz.right) for quiz in one.labs[0].quizzes] for one in found.learners}
    assert of == {"Zoë": [("live", 3.0)], "ADA": [("live", 1.0)], "ada": [("alone", 3.0)], "Eve": [("live", 3.0)]}
    assert [one.name for one in found.learners if one.quizzes_only] == [found.learners[-1].name] == ["Eve"]


def test_the_newest_attempt_counts_also_under_a_number() -> None:
    """In a notebook nobody has an identity, and the store puts a number behind the name for another attempt."""
    attempts = [
        quiz("ada", kind="alone", own=False, right=1.0, at=NOW - 900),
        quiz("ada 2", kind="alone", own=False, right=4.0, at=NOW - 20),
        quiz("ada 3", kind="live", own=True),
    ]
    found = stand(opened("first"), quizzes=attempts)
    assert [one.name for one in found.learners] == ["ada", "ada 3"]
    (only,) = found.learners[0].labs[0].quizzes
    assert (only.right, only.share) == (4.0, 1.0)
    assert quiz("x", questions=0).share == 0.0


def test_three_wrong_checks_in_a_row_are_stuck() -> None:
    assert stuck(wrong("first", "mine", 2)) is None
    found = stuck(right("first", "whoami"), wrong("first", "mine", 3, 120))
    assert found == Stuck(
        "first", "mine", "mine in lab 0 (first): 3 checks in a row not right, 2 min ago.", "Look.", NOW - 120
    )
    assert stuck(wrong("first", "mine", 3, right_at=NOW - 900)) is None, "solved it before"
    assert stuck(wrong("first", "mine", 9, 3700)) is None, "left an hour ago"
    late = stuck(wrong("first", "mine", 4, state="late"))
    assert late is not None and late.words.endswith("; the last one had not ended in time.")
    two = stuck(wrong("first", "mine", 4, 300), wrong("kmeans", "shard", 3, 100))
    assert two is not None and two.exercise == "shard", "the one they are at"


def test_an_exercise_that_is_empty_isnt_wrong() -> None:
    """A whole notebook that is run again and again checks what its learner hasn't come to."""
    empty = row("ada", "first", "mine", state="empty", tries=9, said="Nothing is there yet.")
    assert stuck(empty) is None and ada(empty).labs[0].exercises[1].mark == "none"
    after = stuck(wrong("first", "mine", 3, state="empty"))
    assert after is not None and "the last one found nothing there yet" in after.words


def test_nothing_new_in_a_lab_that_isnt_finished_is_stuck() -> None:
    rows = [opened("first", 1500), right("first", "whoami", 840)]
    found = stuck(*rows)
    assert found is not None and (found.lab, found.exercise, found.hint) == ("first", "mine", "")
    assert found.words == "mine in lab 0 (first): nothing new for 14 min, 1 of 2 exercises right."
    assert stuck(*rows, now=NOW - 300) is None, "9 minutes are no time"
    assert stuck(*rows, now=NOW + 3000) is None, "left"
    assert stuck(*rows, right("first", "mine", 700)) is None, "finished"
    assert stuck(*rows, opened("kmeans", 100)) is None, "went on"
    assert stuck(*rows, quizzes=[quiz("ada", "kmeans")]) is None, "answers a quiz"
    assert stuck(opened("old", 840)) is None
    once = stuck(*rows, wrong("first", "mine", 1, 800))
    assert once is not None and once.hint == "Look."


def test_who_is_stuck_comes_first_the_longest_first() -> None:
    rows = [
        *(opened("first", learner=name) for name in ("Bob", "ada", "zoë")),
        wrong("first", "mine", 3, 60, learner="late"),
        wrong("first", "mine", 3, 300, learner="long"),
    ]
    found = stand(*rows, quizzes=[quiz("aaa")])
    assert [one.name for one in found.learners] == ["long", "late", "ada", "Bob", "zoë", "aaa"]


TEXT = st.text(max_size=5)
TIMES = st.floats(NOW - 1e5, NOW + 1e5)
ROWS = st.builds(
    LabProgress,
    *(TEXT, st.sampled_from(["first", "kmeans", "old", ""]), st.sampled_from(["notebook", "exercise", "prediction"])),
    *(st.sampled_from(["whoami", "mine", "shard", "other"]), st.sampled_from(["right", "hint", "empty", "", "odd"])),
    *(st.integers(0, 9), st.integers(0, 9), TEXT, st.none() | st.dictionaries(TEXT, TEXT)),
    *(TIMES, TIMES, st.none() | TIMES),
)
QUIZZES = st.builds(
    QuizProgress,
    *(st.sampled_from(["live", "alone"]), st.sampled_from(["ranks", "none"]), TEXT, st.booleans(), st.floats(0, 5)),
    *(st.integers(0, 5), st.integers(0, 5), TIMES),
)


@given(st.lists(ROWS, max_size=12), st.lists(QUIZZES, max_size=5))
def test_whatever_is_known_everybody_is_there_once(rows: list[LabProgress], quizzes: list[QuizProgress]) -> None:
    found = stand(*rows, quizzes=quizzes)
    names = [one.name for one in found.learners]
    assert len(names) == len(set(names)) and set(names) >= {one.learner for one in rows}
    assert {lab.name for lab in found.labs} == {"first", "kmeans"} | {one.lab for one in rows}
    for one in found.learners:
        assert len(one.labs) == len(found.labs)
        assert all(where.minutes >= 0 and where.solved <= len(where.exercises) for where in one.labs)
    flags = [(one.quizzes_only, one.stuck is None) for one in found.learners]
    assert flags == sorted(flags)
