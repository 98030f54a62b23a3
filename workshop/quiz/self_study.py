"""Self-study: a learner's attempts at a deck, in the store, and the runs that measure a learner's prediction. Marks and
solutions are shown after each answer."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.words import count, quantity
from workshop.quiz import truth
from workshop.quiz.deck import Deck, ask, attempt_seed
from workshop.quiz.parts import Picture
from workshop.quiz.rendering import html, plain
from workshop.quiz.truth import Truth
from workshop.quiz.types import DrawnQuestion, Mark, Question
from workshop.quiz.types.number import Predict
from workshop.sessions import lifecycle
from workshop.store.records import Identity, QuizAnswer, QuizPlayer, QuizRound, RunRecord
from workshop.store.store import Store

KIND = "alone"
ANSWERED = "You have answered this question already; the first answer counts."
Source = Callable[[Question, Picture], str]  # the address from which a browser gets a question's picture
SAVED = "Your prediction is kept"
CHANGES = ("answer", "run", "again")  # what changes an attempt


@dataclass(frozen=True)
class DeckProgress:
    """The progress of an attempt: points and the `total` of all questions, and the questions to look at again."""

    questions: int
    answered: int
    points: float
    total: float
    revisit: tuple[str, ...]

    @property
    def done(self) -> bool:
        return self.answered == self.questions

    @property
    def words(self) -> str:
        """The progress on one line."""
        points = f"{quantity(self.points)} of {quantity(self.total)} points"
        revisit = f"; {count(len(self.revisit), 'question')} to look at again" if self.revisit else ""
        return f"{self.answered} of {self.questions} answered, {points}{revisit}"


@dataclass(frozen=True)
class QuizLearner:
    """The learner: an identity of the dashboard, or in a notebook a user of this machine."""

    identity: Identity | None
    name: str

    @classmethod
    def from_identity(cls, identity: Identity) -> QuizLearner:
        return cls(identity, identity.nickname)

    @property
    def id(self) -> int | None:
        return self.identity.id if self.identity else None

    @property
    def runs_owner(self) -> int | None:
        """The identity that owns the learner's runs; None: runs without an identity, as the instructor's are."""
        return self.identity.id if self.identity and self.identity.role == "learner" else None


@dataclass(frozen=True)
class SelfStudy:
    """One attempt of a learner at a deck. It is thread-safe, because the answers are only in the store."""

    store: Store
    deck: Deck
    round: QuizRound
    player: QuizPlayer
    learner: QuizLearner
    session: int | None = None  # the session that measures predictions; None: the newest that everybody may use

    def variant(self, question_id: str) -> DrawnQuestion:
        """A question with the learner's numbers and order. Raises BadInput if the deck has no such question."""
        try:
            question = self.deck.question(question_id)
        except KeyError:
            raise BadInput(f"The quiz {self.deck.deck} has no question {question_id!r:.60}.") from None
        return ask(self.deck, question, attempt_seed(self.round, self.player))

    def answers(self) -> dict[str, QuizAnswer]:
        """The answers so far, by question."""
        records = self.store.answers(self.round.id, player_id=self.player.id)
        return {record.question: record for record in records}

    def answer(self, question_id: str, raw: Any) -> None:
        """Read, grade and save an answer as a browser sends it; predictions are graded later. Raises BadInput if it
        can't be read or the question has an answer already, WorkshopError if it can't be graded."""
        variant = self.variant(question_id)
        if question_id in self.answers():  # before grading, which takes the mapper a while
            raise BadInput(ANSWERED)
        value = variant.question.read(variant, raw)
        mark = None if variant.question.measured else variant.question.grade(variant, value)
        points = {} if mark is None else self._worth(variant, mark)
        player = self.player
        record = QuizAnswer(self.round.id, question_id, player.id, player.nickname, value, time.time(), None, **points)
        if self.store.keep_answers([record]) != [True]:
            raise BadInput(ANSWERED)

    def run(self, question_id: str) -> dict[str, int]:
        """Submit the runs that check a prediction and are missing, not under way, or too old to be compared with the
        others. Return run ids by name. Raises BadInput for other questions, before there is a prediction, and if
        nothing can be run."""
        question: Any = self.variant(question_id).question
        if not question.measured:
            raise BadInput("There is nothing to run for this question.")
        if question_id not in self.answers():
            raise BadInput("Predict first: the runs are made once your prediction is kept.")
        latest = truth.latest(self.store, question, self.learner.runs_owner)
        have = {name: run.id for name, run in latest.items() if run.status == "completed" or not run.ended}
        if len(have) == len(question.runs):
            return {}
        have = {name: run.id for name, run in _fresh(latest).items()}  # those that are too old are repeated
        target = lifecycle.newest_session(self.store) if self.session is None else self.store.session(self.session)
        return truth.submit(self.store, target, question, self.learner.identity, have)

    def view(self, question_id: str, source: Source) -> dict[str, Any]:
        """One question for a browser, as JSON; it reveals the right answer only after the learner's answer."""
        variant = self.variant(question_id)
        question: Any = variant.question  # a Predict, where it is measured
        document: dict[str, Any] = dict.fromkeys(("answer", "mark", "solution", "measuring", "truth"))
        document["shown"] = question.view(variant, lambda picture: source(question, picture))
        record = self.answers().get(question_id)
        if record is None:
            return document
        document["answer"] = question.sent(variant, record.answer)
        value = None
        if question.measured:
            runs = truth.latest(self.store, question, self.learner.runs_owner, "completed")
            ids, complete = {name: run.id for name, run in runs.items()}, len(runs) == len(question.runs)
            measured = truth.value(self.store, question, ids) if complete else None
            if measured is None or measured.value is None:
                document["measuring"] = self._measuring(question, measured)
                return document
            value = measured.value
            value_words = question.value_words(value)
            document["truth"] = {"value": value, "unit": question.unit, "words": value_words, "how": measured.words}
        mark = question.grade(variant, record.answer, value)
        worth = self._worth(variant, mark)
        if (record.share, record.right, record.points) != tuple(worth.values()):  # new or newer runs of a prediction
            self.store.judge_answers(self.round.id, question_id, {self.player.id: tuple(worth.values())})
        document["mark"] = {**worth, "feedback": list(mark.feedback)}
        document["solution"] = variant.question.solution(variant, value)
        return document

    def _measuring(self, question: Predict, measured: Truth | None) -> dict[str, Any]:
        """How far the runs of a prediction without a value are, for a browser: `words`; `progress` while they go on,
        (finished, total), where a part of a run counts as a fraction; a `problem`; and `run`, whether to offer a button
        that submits the missing runs. Raises BadInput."""
        state: dict[str, Any] = {"words": f"{SAVED}.", "progress": None, "problem": "", "run": False}
        if measured is not None:
            return state | {"problem": measured.problem}
        latest = truth.latest(self.store, question, self.learner.runs_owner)
        if going := [run for run in latest.values() if not run.ended]:
            doing = {"queued": "waiting for its turn", "running": "running"}
            sentence = words.listed(f"run {run.id} ({doing[run.status]})" for run in going)
            return state | {
                "words": f"{SAVED}; it is checked when {sentence} {words.verb(len(going))} done.",
                "progress": (round(sum(map(_done, latest.values())), 3), len(question.runs)),
                "problem": next(filter(None, (_stuck(self.store, run) for run in going)), ""),
            }
        problem = " ".join(truth.failure_reason(run) for run in latest.values() if run.status != "completed")
        try:
            if self.session is None or not self.store.session(self.session).up:
                lifecycle.newest_session(self.store)
        except BadInput as error:
            return state | {"problem": f"{problem} {error}".strip()}
        missing = len(question.runs) - len(_fresh(latest))
        sentence = f"{SAVED}. To check it, {words.count(missing, 'run')} of your own {words.verb(missing)} missing."
        return state | {"words": sentence, "problem": problem, "run": True}

    def state(self) -> dict[str, Any]:
        """The progress for a browser, as JSON: of each question whether it was answered, and how well."""
        score, answers = self.score(), self.answers()
        return {
            "title": self.deck.title,
            "about": html(self.deck.about),
            "attempt": self.player.attempt,
            "points": round(score.points, 2),
            "of": round(score.total, 2),
            "questions": [self._line(question, answers.get(question.id)) for question in self.deck.questions],
        }

    def _line(self, question: Question, answer: QuizAnswer | None) -> dict[str, Any]:
        text = plain(question.text, self.variant(question.id).numbers)
        return {
            "id": question.id,
            "text": shorten(text, 120, placeholder=" …"),
            "answered": answer is not None,
            "judged": answer is not None and answer.share is not None,
            "right": answer.right if answer else None,
            "share": answer.share if answer else None,
        }

    def respond(self, act: str, values: Mapping[str, Any], source: Source) -> dict[str, Any]:
        """What `self_study.js` gets for `act`, as JSON: for `state` and `again` (start over) the state; for `question`,
        `answer` and `run` the question, with the state that this leaves behind.

        `values` has the question, the answer, and the attempt that the browser shows. Raises WorkshopError.
        """
        if act in CHANGES and values.get("attempt") != self.player.attempt:
            raise BadInput("You have started this quiz over elsewhere; load this page or run this cell again.")
        question = str(values.get("question"))
        match act:
            case "state":
                return self.state()
            case "again":
                return self.start_over().state()
            case "answer":
                self.answer(question, values.get("answer"))
            case "run":
                self.run(question)
        return {**self.view(question, source), "state": self.state()}

    def score(self) -> DeckProgress:
        answers, questions = self.answers(), self.deck.questions
        points = sum(answer.points or 0.0 for answer in answers.values())
        wrong = (
            question.id for question in questions if question.id in answers and answers[question.id].right is False
        )
        total = sum(map(self.deck.points_of, questions))
        return DeckProgress(len(questions), len(answers), points, total, tuple(wrong))

    def start_over(self) -> SelfStudy:
        """Begin the next attempt, with other numbers and no answers; the store keeps this one."""
        player = _newest(self.store, self.round, self.learner)
        if player is None or player.attempt <= self.player.attempt:  # else it was begun elsewhere
            player = self.store.add_player(self.round.id, self.learner.id, self.learner.name, self.player.attempt + 1)
        return replace(self, player=player)

    def _worth(self, variant: DrawnQuestion, mark: Mark) -> dict[str, Any]:
        points = mark.share * self.deck.points_of(variant.question)
        return {"share": mark.share, "right": mark.right, "points": points}


def begin(store: Store, deck: Deck, learner: QuizLearner, folder: str | Path = "") -> SelfStudy:
    """The learner's newest attempt at this version of a deck, or the first one; `folder` has the deck's pictures."""
    version = _version(deck)
    quiz_round = _round(store, deck, version)
    if quiz_round is None:
        store.add_round(KIND, deck.model_dump(mode="json"), seed=version, deck_folder=str(folder))
        quiz_round = _round(store, deck, version)  # two people who begin at the same time get the same round
        assert quiz_round is not None, "just written"
    player = _newest(store, quiz_round, learner) or store.add_player(quiz_round.id, learner.id, learner.name)
    return SelfStudy(store, deck, quiz_round, player, learner)


def progress(store: Store, deck: Deck, learner: QuizLearner) -> DeckProgress | None:
    """The learner's progress in this version of a deck; None before the first attempt."""
    quiz_round = _round(store, deck, _version(deck))
    player = _newest(store, quiz_round, learner) if quiz_round is not None else None
    if quiz_round is None or player is None:
        return None
    return SelfStudy(store, deck, quiz_round, player, learner).score()


def _version(deck: Deck) -> str:
    """A hash of the deck's content, without the comments of its file."""
    return hashlib.sha256(json.dumps(deck.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _round(store: Store, deck: Deck, version: str) -> QuizRound | None:
    """The oldest round of this version, so that two people who begin at the same time get the same round."""
    rounds = reversed(store.rounds(KIND, deck.deck))
    return next((quiz_round for quiz_round in rounds if quiz_round.seed == version), None)


def _newest(store: Store, quiz_round: QuizRound, learner: QuizLearner) -> QuizPlayer | None:
    """The learner's newest attempt. A learner without an identity is found by name; the store may have added a number
    to the name."""
    if learner.id is not None:
        players = store.players(quiz_round.id, learner.id)
    else:
        same_name = re.compile(rf"{re.escape(learner.name)}( \d+)?")
        anonymous = [player for player in store.players(quiz_round.id) if player.identity_id is None]
        players = [player for player in anonymous if same_name.fullmatch(player.nickname)]
    return max(players, key=lambda player: (player.attempt, player.id), default=None)


def _fresh(runs: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """The runs that needn't be repeated: runs that are compared should be made at about the same time."""
    return {
        name: run for name, run in runs.items() if not run.ended or (run.status == "completed" and truth.recent(run))
    }


def _stuck(store: Store, run: RunRecord) -> str:
    """Why a run won't end by itself; empty if it will."""
    session = store.session(run.session_id)
    if session.up:
        return ""
    return f"Session {session.name} is {session.state}: the run goes on when somebody starts it again."


def _done(run: RunRecord) -> float:
    """The finished share of a run, as far as the run reported it."""
    if run.status == "completed":
        return 1.0
    done, total = run.progress or (0.0, 1.0)
    return min(done / total, 1.0) if total > 0 else 0.0
