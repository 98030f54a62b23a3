"""How the class stands in the labs, read from the store and from what labs there are; resets of a learner."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.words import count, listed
from workshop.course import catalogue, copies, description
from workshop.course import learner as of_this_machine
from workshop.course.progress import Class, Outline, QuizProgress, class_progress
from workshop.quiz.results.spreadsheets import Gradebook
from workshop.store.sessions import now, refuse_in
from workshop.store.store import Store

NO_NOTEBOOK = "No notebook is copied again: theirs are not on this machine, or the course has none of this lab now."
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
        learners = tuple(each for each in progress_of_class.learners if each.name == learner)
        return Class(progress_of_class.labs, learners)

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
        """How many questions of a round count: nothing is right in a poll, and the host may skip questions."""
        if round_id not in self._questions:
            quiz_round = self.store.round(round_id)
            marked = {
                question["id"] for question in quiz_round.deck.get("questions", []) if question.get("type") != "poll"
            }
            self._questions[round_id] = len(marked.difference(quiz_round.state.get("skipped", ())))
        return self._questions[round_id]


@dataclass(frozen=True)
class ResetPlan:
    """A reset of a learner: their progress is removed, and their notebooks and files on this machine are handed out
    again. Files that they have written get another name and are never lost. `lab` None: all labs."""

    learner: str
    lab: str | None
    things: int  # exercises, predictions and opened notebooks that are known
    folder: Path | None  # of their notebooks; None: not on this machine
    notebooks: tuple[str, ...]  # that are handed out again
    files: tuple[str, ...]  # of the labs that are handed out again with them
    aside: tuple[str, ...] = ()  # once it has happened, names of files that hold what the learner had written

    @property
    def words(self) -> str:
        """Sentences for the person who has to confirm."""
        records, what = count(self.things, "record"), "exercises, predictions and opened notebooks"
        sentences = f"This deletes {records} of {self.learner}'s progress {self._where}: {what}. "
        if not self.notebooks:
            return sentences + NO_NOTEBOOK
        files = listed([*self.notebooks, *self.files])
        versions = "The learner's own versions are kept beside them under other names."
        return f"{sentences}Copied again into {self.folder}: {files}. {versions}"

    @property
    def done(self) -> str:
        """The effects of a reset that has happened."""
        sentences = f"{self.learner} starts again {self._where}."
        if not self.notebooks:
            return f"{sentences} {NO_NOTEBOOK}"
        if self.aside:
            sentences += f" What they had written is kept as {listed(self.aside)}."
        return f"{sentences} An open notebook shows the new one after File > Reload Notebook from Disk."

    @property
    def _where(self) -> str:
        return f"in {self.lab}" if self.lab else "in all labs"


def plan_reset(store: Store, learner: str, lab: str | None = None) -> ResetPlan:
    """The effects of a reset. Raises BadInput for a learner or a lab without progress, and in a recording."""
    refuse_in(store.database)
    all_rows = store.progress()
    things = [row for row in all_rows if row.learner == learner and lab in (None, row.lab)]
    notebooks = _notebooks(lab)
    if not any(row.learner == learner for row in all_rows):
        names = sorted({row.learner for row in all_rows})
        existing = f"those there are: {listed(names[:20])}" if names else "nobody has begun a lab yet"
        raise BadInput(f"Nothing is known of a learner {learner!r:.90}; {existing}.")
    if not things and not notebooks:
        labs = sorted({row.lab for row in all_rows if row.learner == learner})
        raise BadInput(f"{learner} has nothing in a lab {lab!r:.50}; there is something in {listed(labs)}.")
    folder = folder_of(learner)
    if folder is None:
        return ResetPlan(learner, lab, len(things), None, (), ())
    # A file of another lab belongs to that lab.
    linked = (copies.linked(config.notebooks_folder(), name, lab_name) for name, lab_name in notebooks.items())
    return ResetPlan(learner, lab, len(things), folder, tuple(notebooks), tuple(chain.from_iterable(linked)))


def reset(store: Store, learner: str, lab: str | None = None) -> ResetPlan:
    """Reset a learner in one lab or in all. The notebooks come first: where they can't be handed out, the progress
    stays too. Raises BadInput."""
    reset_plan = plan_reset(store, learner, lab)
    aside: list[str] = []
    if reset_plan.folder is not None:
        try:
            for name in (*reset_plan.notebooks, *reset_plan.files):
                copied = copies.copy_again(config.notebooks_folder(), reset_plan.folder, name)
                aside += [str(PurePosixPath(name).with_name(copied.aside))] if copied.aside else []
        except BadInput as error:
            raise BadInput(f"{str(error).rstrip('.')}; nothing that is known of {learner} is taken back.") from None
    store.forget_progress(learner, lab)
    return replace(reset_plan, aside=tuple(aside))


def folder_of(learner: str) -> Path | None:
    """Where a learner's copies are on this machine; None: nowhere. Raises BadInput where a folder isn't their own."""
    # The nickname may be short for an account's longer name.
    accounts = (account for account in config.class_learners() if of_this_machine.nickname(account) == learner)
    folder = config.class_notebooks(learner) or config.class_notebooks(next(accounts, ""))
    if folder is None and learner == of_this_machine.name():
        folder = config.learners_folder().resolve()  # its owner may have put a link there
    return folder if folder is not None and folder.is_dir() else None


def _notebooks(lab: str | None) -> dict[str, str]:
    """The names of a lab's notebook, or of all, with the names of the labs."""
    return {
        catalogue.file_name(described, folder): folder.name
        for folder, described in catalogue.readable()
        if lab in (None, folder.name)
    }
