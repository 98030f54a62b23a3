"""Decks as authors write them. `reader` reads them from YAML; `types` has the question types."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from workshop.core.errors import BadInput
from workshop.quiz.form_errors import fault, hint
from workshop.quiz.parts import DeckPart, Id, Line, Points, Seconds, values
from workshop.quiz.types import AnyQuestion, DrawnQuestion, Question
from workshop.store.records import QuizPlayer, QuizRound

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Deck(DeckPart):
    """The questions of one quiz, in order."""

    deck: Id = Field(description="its name: small letters, digits and hyphens")
    title: Line = Field(description="what people see of it")
    lab: str = Field("", max_length=60, description="the lab that it belongs to")
    about: str = Field("", max_length=10_000, description="Markdown; what it is about and for whom")
    points: Points = Field(1, description="for a question that doesn't say")
    seconds: Seconds = Field(60, description="time limit in a round for a question that doesn't say")
    shuffle: bool = Field(True, description="shuffle the options of questions that don't say")
    questions: tuple[AnyQuestion, ...] = Field(min_length=1, max_length=200, description="in the order of a round")
    short: tuple[Id, ...] = Field(
        (), max_length=20, description="the questions that the lab asks, in order; default: all of them"
    )

    @field_validator("questions")
    @classmethod
    def _have_unique_ids(cls, questions: tuple[Any, ...]) -> tuple[Any, ...]:
        ids = [question.id for question in questions]
        for place, id in enumerate(ids):
            if (first := ids.index(id)) < place:
                raise fault(
                    (place, "id"), f"id {id!r} is already that of question {first + 1}; each should have its own"
                )
        return questions

    @field_validator("short")
    @classmethod
    def _are_questions(cls, short: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        ids = [question.id for question in info.data.get("questions", ())]
        for place, id in enumerate(short):
            if ids and id not in ids:
                raise fault((place,), f"{id!r} is the id of no question{hint(id, ids)}")
            if id in short[:place]:
                raise fault((place,), f"the id {id!r} is there twice")
        return short

    def brief(self) -> Deck:
        """The deck with the questions that its lab asks; the whole deck where it names none."""
        return self.selection(self.short) if self.short else self

    def question(self, id: str) -> Any:
        """Raises KeyError."""
        return {question.id: question for question in self.questions}[id]

    def selection(self, ids: Sequence[str]) -> Deck:
        """The deck with only these questions, in this order. Raises BadInput where there is none."""
        if not ids:
            raise BadInput("A round needs a question; choose at least one.")
        # The short quiz is of the whole deck; with questions that are missing, the deck couldn't be read again.
        return self.model_copy(update={"questions": tuple(self.question(id) for id in ids), "short": ()})

    def points_of(self, question: Question) -> float:
        """The points of a right answer."""
        if not question.marked:
            return 0.0
        return self.points if question.points is None else question.points

    def seconds_of(self, question: Question) -> int:
        """How long a question is open in a round."""
        return question.seconds or self.seconds

    def shuffles(self, question: Question) -> bool:
        return self.shuffle if question.shuffle is None else question.shuffle


def ask(deck: Deck, question: Question, seed: str) -> DrawnQuestion:
    """The variant for this seed: the same seed gives the same numbers and the same order on any machine.

    Options keep the deck's order if the question or the deck says so.
    """
    numbers = {
        name: random.Random(f"{seed}/{question.id}/number/{name}").choice(values(choices))
        for name, choices in question.numbers.items()
    }
    places = question.places(random.Random(f"{seed}/{question.id}/order"), deck.shuffles(question))
    points, seconds = deck.points_of(question), deck.seconds_of(question)
    return DrawnQuestion(question, numbers, tuple(places), points, seconds, deck.lab)


def attempt_seed(quiz_round: QuizRound, player: QuizPlayer) -> str:
    """The seed of a learner in self-study; each attempt has another one."""
    who = player.nickname if player.identity_id is None else player.identity_id
    return f"{quiz_round.seed}/{who}/{player.attempt}"


def schema() -> dict[str, Any]:
    """The JSON schema of a deck, with which editors check YAML; labs/quiz.schema.json holds it, and a deck names that
    file in its first line. `reader` checks more than a schema can, for instance that one option is right."""
    return {"$schema": DIALECT, **Deck.model_json_schema(), "title": "A quiz's deck"}
