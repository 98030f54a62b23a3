"""How the class stands in the labs, read from the store and from what labs there are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.course import catalogue, description
from workshop.course.progress import Class, Outline, QuizProgress, class_progress
from workshop.quiz.results.spreadsheets import Gradebook
from workshop.store.read_only import now
from workshop.store.store import Store

SAME = 10.0  # seconds for which the labs' descriptions are taken for the same


def outlines(labs: Path | None = None) -> tuple[list[Outline], list[str]]:
    """The labs in the order of the course, and a sentence for each unreadable description."""
    lab_outlines, problems = [], []
    for folder in catalogue.folders(labs):
        try:
            lab = description.read(folder)
        except BadInput as error:
            problems.append(" ".join(str(error).split()))
        else:
            lab_outlines.append(Outline(folder.name, lab.title, lab.number, lab.exercises, lab.deck))
    return lab_outlines, problems


def grades(class_: Class) -> Gradebook:
    """The grades of the labs: how many of the course's exercises each learner has right. Learners who only answered
    quizzes have none."""
    scores = []
    for learner in class_.learners:
        if not learner.quizzes_only:
            right = (
                exercise.mark == "right" and exercise.id in where.lab.exercises
                for where in learner.labs
                for exercise in where.exercises
            )
            scores.append((learner.name, sum(right)))
    return Gradebook("Labs", tuple(scores), sum(len(lab.exercises) for lab in class_.labs))


class Classroom:
    """Looks at the class again and again; any thread may use it. Rounds' decks never change and are read once."""

    def __init__(self, store: Store, labs: Path | None = None) -> None:
        self.store = store
        self.labs = labs  # a folder of labs; None: all that there are
        self.problems: list[str] = []  # of labs that can't be read
        self._outlines: list[Outline] = []
        self._read_at: float | None = None
        self._questions: dict[int, int] = {}  # of rounds

    def look(self, learner: str | None = None) -> Class:
        """The present progress of all learners, or of one, with the quizzes that carry their names."""
        looked = time.monotonic()
        if self._read_at is None or looked - self._read_at > SAME:
            (self._outlines, self.problems), self._read_at = outlines(self.labs), looked
        labs, rows = self._outlines, self.store.progress()
        names = self.store.of_notebooks({row.learner for row in rows})
        progress_of_class = class_progress(
            labs,
            rows,
            self._quizzes(names),
            now(self.store.database),
            [names.get(attendance.id, attendance.nickname) for attendance in self.store.attendances()],
        )
        if learner is None:
            return progress_of_class
        return Class(
            progress_of_class.labs,
            tuple(
                learner_progress for learner_progress in progress_of_class.learners if learner_progress.name == learner
            ),
        )

    def _quizzes(self, names: Mapping[int, str]) -> list[QuizProgress]:
        """The results of all quizzes. A learner's own notebook counts under the name in that notebook, without the
        number that made the nickname unique: `names` has these by identity."""
        return [
            QuizProgress(
                quiz.kind, quiz.deck, names.get(quiz.identity_id or 0, quiz.nickname),
                quiz.identity_id is not None, quiz.share,
                self._question_count(quiz.round_id), quiz.answered, quiz.last_at,
            )
            for quiz in self.store.quiz_standings()
        ]  # fmt: skip

    def _question_count(self, round_id: int) -> int:
        """How many questions of a round have a right answer: nothing is right in a poll."""
        if round_id not in self._questions:
            questions = self.store.round(round_id).deck.get("questions", [])
            self._questions[round_id] = sum(question.get("type") != "poll" for question in questions)
        return self._questions[round_id]
