"""The next step of a learner: a live round first, then what was begun, then the first lab that is new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workshop.course.progress import ExerciseProgress, LabStanding, Outline, QuizProgress, next_step

LABS = tuple(Outline(name, name.title(), number, ("shard",), name) for number, name in enumerate(("first", "kmeans")))
NEW = tuple(LabStanding(lab, (ExerciseProgress("shard"),)) for lab in LABS)


def begun(standing: LabStanding, at: float, **changes: Any) -> LabStanding:
    return replace(standing, began_at=at, last="opened the lab", last_at=at, **changes)


def quiz(answered: int) -> tuple[QuizProgress, ...]:
    return (QuizProgress("alone", "first", "Lea", True, 1.0, 2, answered, 5.0),)


def test_the_order_of_steps() -> None:
    step = next_step(NEW, [])
    assert step is not None and (step.words, step.lab) == ("Begin with lab 0, First.", "first")
    step = next_step((begun(NEW[0], 1.0), begun(NEW[1], 2.0)), [])
    assert step is not None and (step.words, step.lab) == ("You are in lab 1, Kmeans.", "kmeans"), "the newest one"
    solved = begun(NEW[0], 1.0, exercises=(ExerciseProgress("shard", "right", 1, right_at=1.0),))
    step = next_step((solved, NEW[1]), [])
    assert step is not None and step.address == "quiz/alone/first:lab" and "quiz is still open" in step.words
    step = next_step((solved, NEW[1]), [], "kmeans", "The class is at lab 1.")
    assert step is not None and (step.words, step.lab) == ("The class is at lab 1.", "kmeans"), "the class goes first"
    half = begun(NEW[0], 1.0, quizzes=quiz(1))
    step = next_step((half, NEW[1]), [])
    assert step is not None and step.lab == "first", "one of two questions is answered"
    done = begun(NEW[0], 1.0, quizzes=quiz(2))
    step = next_step((done, NEW[1]), [])
    assert step is not None and step.words == "Go on with lab 1, Kmeans."
    assert next_step((done, replace(done, lab=LABS[1])), []) is None


def test_a_lab_without_a_quiz_ends_with_its_exercises() -> None:
    lab = replace(LABS[0], deck="")
    solved = begun(LabStanding(lab, (ExerciseProgress("shard", "right", 1, right_at=1.0),)), 1.0)
    step = next_step((solved, NEW[1]), [])
    assert step is not None and step.lab == "kmeans"
    assert next_step((replace(solved, lab=replace(lab, number=None)),), []) is None, "the course has it no more"
