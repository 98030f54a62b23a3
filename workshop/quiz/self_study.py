"""Learning alone: somebody's way through a deck, kept in the store. Marks and solutions come after one's own answer."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.words import count, short
from workshop.quiz import grading, prediction_checks, question_view, truth
from workshop.quiz.deck import Base, Deck, Predict
from workshop.quiz.parts import Picture
from workshop.quiz.randomisation import DrawnQuestion, ask, attempt_seed
from workshop.store.records import Identity, QuizAnswer, QuizPlayer, QuizRound, SessionRecord
from workshop.store.store import Store

KIND = "alone"
ANSWERED = "You have answered this question already; the first answer counts."
Source = Callable[[Base, Picture], str]  # the address from which a browser gets a question's picture


@dataclass(frozen=True)
class DeckProgress:
    """How far somebody has come: points `of` those of all questions, and the questions to look at again."""

    questions: int
    answered: int
    points: float
    of: float
    again: tuple[str, ...]

    @property
    def done(self) -> bool:
        return self.answered == self.questions

    @property
    def words(self) -> str:
        """How far somebody has come, on one line."""
        points = f"{short(self.points)} of {short(self.of)} points"
        again = f"; {count(len(self.again), 'question')} to look at again" if self.again else ""
        return f"{self.answered} of {self.questions} answered, {points}{again}"


@dataclass(frozen=True)
class QuizLearner:
    """Who learns: an identity of the dashboard, or on this machine (in a notebook) a user of it."""

    identity: Identity | None
    name: str

    @classmethod
    def of(cls, identity: Identity) -> QuizLearner:
        return cls(identity, identity.nickname)

    @property
    def id(self) -> int | None:
        return self.identity.id if self.identity else None

    @property
    def runs(self) -> int | None:
        """Whose runs are theirs; None: those of nobody in particular, as the instructor's are."""
        return self.identity.id if self.identity and self.identity.role == "learner" else None


@dataclass(frozen=True)
class SelfStudy:
    """One attempt of somebody at a deck. Any thread may use it; what was answered is in the store only."""

    store: Store
    deck: Deck
    round: QuizRound
    player: QuizPlayer
    whose: QuizLearner
    session: int | None = None  # where predictions are measured; None: in the newest that everybody may use

    def asked(self, question_id: str) -> DrawnQuestion:
        """A question with one's own numbers and order. Raises BadInput where the deck has no such question."""
        try:
            question = self.deck.question(question_id)
        except KeyError:
            raise BadInput(f"The quiz {self.deck.deck} has no question {question_id!r:.60}.") from None
        return ask(self.deck, question, attempt_seed(self.round, self.player))

    def answers(self) -> dict[str, QuizAnswer]:
        """What was answered, by question."""
        kept = self.store.answers(self.round.id, player_id=self.player.id)
        return {answer.question: answer for answer in kept}

    def answer(self, question_id: str, raw: Any) -> None:
        """Keep an answer as a browser sends it, judged where it can be at once. Raises BadInput for one that can't be
        read and for a question that is answered already, WorkshopError where nobody can tell whether it is right."""
        this = self.asked(question_id)
        if question_id in self.answers():  # before it is judged, which takes the mapper a while
            raise BadInput(ANSWERED)
        given = question_view.answer(this, raw)
        mark = None if isinstance(this.question, Predict) else grading.grade(this, given)
        points = {} if mark is None else self._worth(this, mark)
        kept = QuizAnswer(
            self.round.id, question_id, self.player.id, self.player.nickname, given, time.time(), None, **points
        )
        if self.store.keep_answers([kept]) != [True]:
            raise BadInput(ANSWERED)

    def run(self, question_id: str, session: SessionRecord | None = None) -> dict[str, int]:
        """Have the runs made that a prediction is checked against, as far as they are missing: run ids by name; in the
        newest session where none is given.

        Raises BadInput for other questions, before there is a prediction, and where nothing can be run.
        """
        question = self.asked(question_id).question
        if not isinstance(question, Predict):
            raise BadInput("There is nothing to run for this question.")
        if question_id not in self.answers():
            raise BadInput("Predict first: the runs are made once your prediction is kept.")
        there = session if session is not None or self.session is None else self.store.session(self.session)
        return prediction_checks.run(self.store, question, self.whose.identity, self.whose.runs, there)

    def view(self, question_id: str, source: Source) -> dict[str, Any]:
        """One question for a browser, as JSON; what would tell the right answer only once it is due."""
        this = self.asked(question_id)
        told: dict[str, Any] = {
            "shown": question_view.shown(this, lambda picture: source(this.question, picture)),
            "answer": None,
            "mark": None,
            "solution": None,
            "measuring": None,
            "truth": None,
        }
        kept = self.answers().get(question_id)
        if kept is None:
            return told
        told["answer"] = question_view.raw(this, kept.answer)
        value = None
        if isinstance(this.question, Predict):
            measured = prediction_checks.measured(self.store, this.question, self.whose.runs)
            if measured is None or measured.value is None:
                there = None if self.session is None else self.store.session(self.session)
                now = prediction_checks.measuring(self.store, this.question, self.whose.runs, measured, there)
                told["measuring"] = asdict(now)
                return told
            value = measured.value
            said = truth.said(this.question, value)
            told["truth"] = {"value": value, "unit": this.question.unit, "words": said, "how": measured.words}
        mark = grading.grade(this, kept.answer, value)
        worth = self._worth(this, mark)
        if (kept.share, kept.right, kept.points) != tuple(worth.values()):  # a prediction, or newer runs to check it
            self.store.judge_answers(self.round.id, question_id, {self.player.id: tuple(worth.values())})
        told["mark"] = {**worth, "feedback": list(mark.feedback)}
        told["solution"] = question_view.solution(this, value)
        return told

    def score(self) -> DeckProgress:
        kept = self.answers()
        wrong = [question.id for question in self.deck.questions if _is_wrong(kept.get(question.id))]
        return DeckProgress(
            len(self.deck.questions),
            len(kept),
            sum(answer.points or 0.0 for answer in kept.values()),
            sum(map(self.deck.points_of, self.deck.questions)),
            tuple(wrong),
        )

    def start_over(self) -> SelfStudy:
        """The next attempt, with other numbers and nothing answered; this one is kept."""
        anew = _with_player(self.store, self.deck, self.round, self.whose, self.player.attempt + 1)
        return replace(anew, session=self.session)

    def _worth(self, this: DrawnQuestion, mark: grading.Mark) -> dict[str, Any]:
        points = mark.share * self.deck.points_of(this.question)
        return {"share": mark.share, "right": mark.right, "points": points}


def begin(store: Store, deck: Deck, whose: QuizLearner, folder: str | Path = "") -> SelfStudy:
    """Somebody's newest attempt at this version of a deck, or the first one. `folder` is where its pictures are."""
    version = _version(deck)
    this = _round(store, deck, version)
    if this is None:
        store.add_round(KIND, deck.model_dump(mode="json"), seed=version, deck_folder=str(folder))
        this = _round(store, deck, version)  # whoever began at the same time finds the same one
        assert this is not None, "just written"
    return _with_player(store, deck, this, whose, None)


def progress(store: Store, deck: Deck, whose: QuizLearner) -> DeckProgress | None:
    """How far somebody is with this version of a deck; None before they have begun."""
    this = _round(store, deck, _version(deck))
    player = _newest(store, this, whose) if this is not None else None
    return SelfStudy(store, deck, this, player, whose).score() if player is not None else None


def _version(deck: Deck) -> str:
    """The same for the same deck, whatever its file's comments."""
    return hashlib.sha256(json.dumps(deck.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def _round(store: Store, deck: Deck, version: str) -> QuizRound | None:
    """The oldest one of this version, so that two people who begin it at once come to the same."""
    return next((one for one in reversed(store.rounds(KIND, deck.deck)) if one.seed == version), None)


def _newest(store: Store, this: QuizRound, whose: QuizLearner) -> QuizPlayer | None:
    """Somebody's newest attempt. Who has no identity is known by name, behind which the store may have put a number."""
    if whose.id is not None:
        theirs = store.players(this.id, whose.id)
    else:
        own = re.compile(rf"{re.escape(whose.name)}( \d+)?")
        of_nobody = [player for player in store.players(this.id) if player.identity_id is None]
        theirs = [player for player in of_nobody if own.fullmatch(player.nickname)]
    return max(theirs, key=lambda player: (player.attempt, player.id), default=None)


def _with_player(store: Store, deck: Deck, this: QuizRound, whose: QuizLearner, attempt: int | None) -> SelfStudy:
    player = _newest(store, this, whose)
    if player is None or (attempt is not None and player.attempt < attempt):
        player = store.add_player(this.id, whose.id, whose.name, attempt or 1)
    return SelfStudy(store, deck, this, player, whose)


def _is_wrong(answer: QuizAnswer | None) -> bool:
    return answer is not None and answer.right is False
