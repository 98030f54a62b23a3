"""The next step of a learner in the course, in one sentence and with the page where it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workshop.course.progress import LabStanding
from workshop.store.records import QuizRound


@dataclass(frozen=True)
class NextStep:
    """The next step of a learner: a sentence, and a button that leads to the lab `lab` or to the address `address`."""

    words: str
    label: str
    lab: str = ""
    address: str = ""


def next_step(
    labs: Sequence[LabStanding], rounds: Sequence[QuizRound], pace_lab: str = "", pace_words: str = ""
) -> NextStep | None:
    """Return the next step from a learner's labs, in the order of the course, the live rounds that go on, and the lab
    at which the class is, with a sentence about it. None where nothing is left to do."""
    for quiz_round in rounds:
        sentence = f"A quiz with the whole class is going on: {quiz_round.title}."
        return NextStep(sentence, "Join the quiz", address=f"/quiz?code={quiz_round.code or ''}")
    course = [lab_progress for lab_progress in labs if lab_progress.lab.number is not None]
    if any(lab_progress.lab.name == pace_lab and not is_done(lab_progress) for lab_progress in course):
        return NextStep(pace_words, "Open the lab", lab=pace_lab)
    begun = [lab_progress for lab_progress in course if lab_progress.begun and not is_done(lab_progress)]
    if begun:
        lab_progress = max(begun, key=lambda started: started.last_at or 0.0)
        if lab_progress.finished and lab_progress.lab.deck:
            sentence = f"You have solved every exercise of {_lab(lab_progress)}. Its quiz is still open."
            return NextStep(sentence, "Answer the quiz", address=f"/quiz/alone/{lab_progress.lab.deck}:lab")
        return NextStep(f"You are in {_lab(lab_progress)}.", "Go on with the lab", lab=lab_progress.lab.name)
    for lab_progress in course:
        if not lab_progress.begun:
            verb = "Go on" if any(is_done(other) for other in course) else "Begin"
            return NextStep(f"{verb} with {_lab(lab_progress)}.", "Open the lab", lab=lab_progress.lab.name)
    return None


def _lab(lab_progress: LabStanding) -> str:
    return f"lab {lab_progress.lab.number}, {lab_progress.lab.title}"


def is_done(lab_progress: LabStanding) -> bool:
    """Return whether a learner is through with a lab: has answered all of its quiz, or has solved every exercise where
    it has no quiz."""
    if lab_progress.lab.deck:
        return any(quiz.answered >= quiz.questions for quiz in lab_progress.quizzes)
    return lab_progress.finished
