"""A class's progress in the labs: solved exercises, stuck learners with their last hints, and the next step."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from workshop.core.words import count
from workshop.store.records import LabProgress, QuizRound

BREAK = 1200.0  # seconds without anything that don't count as time in a lab

MarkState = Literal["right", "wrong", "stuck", "none"]
_NUMBER = re.compile(r"(.*) \d+")
WRONG = 3  # checks in a row that aren't right: then somebody is stuck
IDLE = 600.0  # seconds without anything new in a lab that isn't finished: likewise
RECENT = 3600.0  # seconds: who did nothing for longer has left, and isn't stuck
ENDINGS = {  # by the state of the last check
    "empty": "the last one found nothing there yet",
    "error": "the last one ended in an error",
    "late": "the last one had not ended in time",
}


@dataclass(frozen=True)
class Outline:
    """The parts of a lab that count as progress."""

    name: str
    title: str
    number: int | None = None  # None: a lab that the course doesn't have any more
    exercises: tuple[str, ...] = ()
    deck: str = ""

    @property
    def label(self) -> str:
        return self.title if self.number is None else f"{self.number} {self.title}"

    @property
    def words(self) -> str:
        """In a sentence."""
        return self.name if self.number is None else f"lab {self.number} ({self.name})"


@dataclass(frozen=True)
class QuizProgress:
    """How somebody did in a quiz: `right` of `questions`, in halves and thirds where an answer was half right."""

    kind: Literal["live", "alone"]
    deck: str
    nickname: str
    own: bool  # whether the name is that of an identity; else the store may have put a number behind it
    right: float
    questions: int  # that can be right
    answered: int
    at: float

    @property
    def share(self) -> float:
        return self.right / self.questions if self.questions else 0.0


@dataclass(frozen=True)
class ExerciseProgress:
    """A learner's progress with an exercise; `tries` is 0 before the first check. An empty answer isn't wrong."""

    id: str
    state: str = ""  # of the last check, as `course.exercise_checks` names it
    tries: int = 0
    wrong: int = 0  # checks in a row that weren't right, until now
    said: str = ""  # the last hint
    at: float | None = None  # of the last check
    right_at: float | None = None

    @property
    def mark(self) -> MarkState:
        if self.right_at is not None:
            return "right"
        return "none" if not self.wrong else "stuck" if self.wrong >= WRONG else "wrong"


@dataclass(frozen=True)
class PredictionProgress:
    """A learner's guess and the measured value; None stands for a missing one."""

    id: str
    guess: Any
    measured: Any
    at: float


@dataclass(frozen=True)
class LabStanding:
    """Somebody in a lab."""

    lab: Outline
    exercises: tuple[ExerciseProgress, ...] = ()  # in the lab's order
    predictions: tuple[PredictionProgress, ...] = ()
    quizzes: tuple[QuizProgress, ...] = ()  # the newest one alone, and the newest live one
    began_at: float | None = None  # in the notebook; None: no more than quizzes
    last: str = ""  # what was done last, in words
    last_at: float | None = None
    minutes: float = 0.0  # from the first to the last thing done, breaks left out

    @property
    def begun(self) -> bool:
        """Whether there is anything, if only a quiz."""
        return self.last_at is not None

    @property
    def at_it(self) -> bool:
        """Whether the notebook was begun."""
        return self.began_at is not None

    @property
    def solved(self) -> int:
        return sum(exercise.mark == "right" for exercise in self.exercises)

    @property
    def finished(self) -> bool:
        return self.at_it and self.solved == len(self.exercises)

    @property
    def done(self) -> bool:
        """Whether its quiz is answered whole, or every exercise is solved where it has no quiz."""
        if self.lab.deck:
            return any(quiz.answered >= quiz.questions for quiz in self.quizzes)
        return self.finished


@dataclass(frozen=True)
class LearnerProgress:
    """Somebody in all labs. `last` is the lab in which something was done last."""

    name: str
    labs: tuple[LabStanding, ...]
    stuck: Stuck | None = None
    quizzes_only: bool = False  # has answered quizzes, and opened no notebook under this name

    @property
    def last(self) -> LabStanding | None:
        return max((lab for lab in self.labs if lab.begun), key=lambda lab: lab.last_at or 0.0, default=None)


@dataclass(frozen=True)
class Class:
    """All learners in all labs. Stuck learners come first, the longest first, then all others by name."""

    labs: tuple[Outline, ...]
    learners: tuple[LearnerProgress, ...]


def class_progress(
    labs: Sequence[Outline],
    rows: Iterable[LabProgress],
    quizzes: Iterable[QuizProgress],
    now: float,
    roster: Iterable[str] = (),
) -> Class:
    """Everybody's progress at a moment (seconds since the epoch), also of those on the roster who have begun nothing.
    Labs that only the rows know come last. A quiz belongs to the learner with the same name."""
    by_learner: dict[str, list[LabProgress]] = defaultdict(list)
    for row in rows:
        by_learner[row.learner].append(row)
    known_labs = {lab.name for lab in labs}
    gone = sorted({row.lab for learner_rows in by_learner.values() for row in learner_rows} - known_labs)
    columns = (*labs, *(Outline(name, name) for name in gone))
    marks = _by_name(list(by_learner), [quiz for quiz in quizzes if any(quiz.deck == lab.deck for lab in labs)])
    active = {**by_learner, **marks}
    known_names = set(map(normalized, active))
    names = [*active, *(name for name in roster if normalized(name) not in known_names)]
    learners = []
    for name in names:
        in_labs = tuple(_in_lab(lab, by_learner.get(name, []), marks.get(name, [])) for lab in columns)
        quizzes_only = name in marks and name not in by_learner
        learners.append(LearnerProgress(name, in_labs, find_stuck(in_labs, now), quizzes_only))
    return Class(columns, tuple(sorted(learners, key=_place)))


def _place(learner: LearnerProgress) -> tuple[bool, bool, float, str, str]:
    since = learner.stuck.since if learner.stuck else 0.0
    return learner.quizzes_only, learner.stuck is None, since, normalized(learner.name), learner.name


def normalized(name: str) -> str:
    """The same for names that read alike: upper and lower case, ways to write an accent, spaces around."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _by_name(learners: Sequence[str], quizzes: Iterable[QuizProgress]) -> Mapping[str, list[QuizProgress]]:
    """Quizzes by learner. A nickname without a learner gets an entry of its own."""
    reads: dict[str, str] = {}
    for name in learners:
        reads.setdefault(normalized(name), name)
    exact, by_learner = set(learners), defaultdict(list)
    for quiz in quizzes:
        name = quiz.nickname if quiz.nickname in exact else reads.get(normalized(quiz.nickname))
        if name is None and not quiz.own and (numbered := _NUMBER.fullmatch(quiz.nickname)):
            name = reads.get(normalized(numbered[1]))  # another attempt of theirs
        if name is None:
            name = reads.setdefault(normalized(quiz.nickname), quiz.nickname)
        by_learner[name].append(quiz)
    return by_learner


def _in_lab(lab: Outline, all_rows: Sequence[LabProgress], all_quizzes: Sequence[QuizProgress]) -> LabStanding:
    rows = [row for row in all_rows if row.lab == lab.name]
    quizzes = [quiz for quiz in all_quizzes if lab.deck and quiz.deck == lab.deck]
    by_id = {row.item: row for row in rows if row.kind == "exercise"}
    ids = (*lab.exercises, *sorted(by_id.keys() - set(lab.exercises)))
    newest = {quiz.kind: quiz for quiz in sorted(quizzes, key=lambda quiz: quiz.at)}
    done = [(row.changed_at, _done(row)) for row in rows] + [(quiz.at, "answered the quiz") for quiz in quizzes]
    last_at, last = max(done, default=(None, ""))
    times = [time for row in rows for time in (row.began_at, row.changed_at, row.right_at) if time is not None]
    gaps = [after - before for before, after in pairwise(sorted([*times, *(quiz.at for quiz in quizzes)]))]
    return LabStanding(
        lab,
        tuple(
            ExerciseProgress(id, row.state, row.tries, row.wrong, row.said, row.changed_at, row.right_at)
            if (row := by_id.get(id))
            else ExerciseProgress(id)
            for id in ids
        ),
        tuple(
            PredictionProgress(row.item, value.get("guess"), value.get("measured"), row.changed_at)
            for row in rows
            if row.kind == "prediction"
            for value in (row.value or {},)
        ),
        tuple(newest[kind] for kind in ("alone", "live") if kind in newest),
        min((row.began_at for row in rows), default=None),
        last,
        last_at,
        sum(gap for gap in gaps if gap <= BREAK) / 60,
    )


def _done(row: LabProgress) -> str:
    match row.kind:
        case "exercise":
            return f"checked {row.item}, {'which is right' if row.state == 'right' else 'not right'}"
        case "prediction":
            return f"{'measured' if 'measured' in (row.value or {}) else 'predicted'} {row.item}"
        case _:
            return "opened the lab"


@dataclass(frozen=True)
class Stuck:
    """That somebody needs help: a sentence, and the last hint that they got."""

    lab: str
    exercise: str  # "": none in particular
    words: str
    hint: str
    since: float  # of the last thing they did, seconds since the epoch


def find_stuck(labs: Sequence[LabStanding], now: float) -> Stuck | None:
    """The exercise that a learner got wrong again and again, or a lab without any progress. None where the learner
    isn't stuck or has left, and for labs that the course doesn't have any more.

    Other machines' clocks may be ahead: a time in the future counts as now.
    """
    attempted = [lab for lab in labs if lab.lab.number is not None and lab.at_it]
    tried = [(lab, exercise) for lab in attempted for exercise in lab.exercises if exercise.mark == "stuck"]
    late = [pair for pair in tried if now - (pair[1].at or now) <= RECENT]
    if late:
        where, exercise = max(late, key=lambda pair: pair[1].at or now)
        at = exercise.at or now
        how = f"; {ENDINGS[exercise.state]}" if exercise.state in ENDINGS else ""
        words = f"{count(exercise.wrong, 'check')} in a row not right, {time_ago(at, now)}{how}."
    else:
        newest = max(attempted, key=lambda lab: lab.last_at or now, default=None)
        at = max((lab.last_at for lab in labs if lab.last_at is not None), default=now)  # of anything: a quiz, too
        if newest is None or newest.finished or not IDLE <= now - at <= RECENT:
            return None
        where, exercise = newest, next(exercise for exercise in newest.exercises if exercise.mark != "right")
        right = f"{where.solved} of {count(len(where.exercises), 'exercise')} right"
        words = f"nothing new for {int((now - at) // 60)} min, {right}."
    return Stuck(where.lab.name, exercise.id, f"{exercise.id} in {where.lab.words}: {words}", exercise.said, at)


def time_ago(at: float | None, now: float) -> str:
    """How long ago a moment was, in whole minutes, so that a page doesn't change every second; "" for None."""
    if at is None:
        return ""
    minutes = int((now - at) // 60)
    if minutes < 120:
        return f"{minutes} min ago" if minutes > 0 else "just now"
    return f"{minutes // 60} h ago" if minutes < 2880 else f"{minutes // 1440} days ago"


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
        return NextStep(sentence, "Join the quiz", address=f"quiz?code={quiz_round.code or ''}")
    course = [where for where in labs if where.lab.number is not None]
    if any(where.lab.name == pace_lab and not (where.done and where.finished) for where in course):
        return NextStep(pace_words, "Open the lab", lab=pace_lab)
    begun = [where for where in course if where.begun and not where.done]
    if begun:
        lab_progress = max(begun, key=lambda started: started.last_at or 0.0)
        lab, name = lab_progress.lab, f"lab {lab_progress.lab.number}, {lab_progress.lab.title}"
        if lab_progress.finished and lab.deck:
            sentence = f"You have solved every exercise of {name}. Its quiz is still open."
            return NextStep(sentence, "Answer the quiz", address=f"quiz/alone/{lab.deck}:lab")
        return NextStep(f"You are in {name}.", "Go on with the lab", lab=lab.name)
    if lab := next((where.lab for where in course if not where.begun), None):
        verb = "Go on" if any(where.done for where in course) else "Begin"
        return NextStep(f"{verb} with lab {lab.number}, {lab.title}.", "Open the lab", lab=lab.name)
    return None
