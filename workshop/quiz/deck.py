"""Decks and their questions, as authors write them. `reader` reads them from YAML. `question_view` shows a question as
a learner gets it: `randomisation` has drawn its numbers and shuffled its options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from workshop.quiz import expressions
from workshop.quiz.form_errors import Where
from workshop.quiz.parts import (
    Composed,
    DeckPart,
    Given,
    Id,
    Line,
    Markdown,
    Name,
    NearNumber,
    NearPlacement,
    NearText,
    Option,
    Pair,
    Picture,
    Points,
    PollOption,
    Range,
    RunWanted,
    Seconds,
    Tolerance,
)

Fault = tuple[Where, str]  # where a question doesn't fit together, and in words why
WITH_FAULTS = {"faults": True}  # the context in which a question is validated part by part only


class Base(DeckPart):
    """What questions of all types have."""

    choices: ClassVar[bool] = False  # whether it has options with a letter each

    id: Id = Field(description="its name in this deck: small letters, digits and hyphens")
    text: Markdown = Field(description="Markdown; formulas between dollars, numbers as {name}")
    picture: Picture | None = Field(None, description="a picture beside it")
    explanation: str = Field("", max_length=10_000, description="Markdown that everybody sees after answering")
    points: Points | None = Field(None, description="for a right answer; default: the deck's")
    seconds: Seconds | None = Field(None, description="time limit in a round; default: the deck's")
    tags: tuple[Line, ...] = Field((), max_length=10, description="what it is about, in words to search for")
    source: str = Field("", max_length=500, description="where it comes from: a title, not a link")
    numbers: dict[Name, Range] = Field({}, description="values of their own for each learner")
    shuffle: bool | None = Field(None, description="default: the deck's")
    check: str = Field("", max_length=5_000, description="Python that leaves the right answer in `answer`")

    def faults(self) -> Iterator[Fault]:
        """Everything that doesn't fit together, although each part is right by itself."""
        for name in self.numbers:
            if name in expressions.FUNCTIONS:
                yield ("numbers",), f"numbers: {name} is the name of a function; a number needs another one"
        yield from _twice("options", "options: the option", (option.text for option in getattr(self, "options", ())))

    @model_validator(mode="after")
    def _has_no_faults(self, info: ValidationInfo) -> Self:
        if info.context is not WITH_FAULTS and (found := [text for _, text in self.faults()]):
            raise ValueError("; ".join(found))
        return self


class Choice(Base):
    """A question with options, of which each has a letter."""

    choices: ClassVar[bool] = True

    options: tuple[Option, ...] = Field(min_length=2, max_length=12, description="what can be chosen")

    @property
    def right(self) -> tuple[int, ...]:
        """The numbers of the right options, from 0."""
        return tuple(number for number, option in enumerate(self.options) if option.right)


class Single(Choice):
    """One option is right."""

    type: Literal["single"] = Field(description="one option is right")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if len(self.right) != 1:
            yield ("options",), f"options: {len(self.right)} of them are right; a single choice has one"


class Multiple(Choice):
    """Any number of options is right, at least one."""

    type: Literal["multiple"] = Field(description="any number of options is right")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if not self.right:
            yield ("options",), "options: none of them is right; at least one should be"


class Poll(Base):
    """What people think; nothing is right, and there are no points."""

    choices: ClassVar[bool] = True

    type: Literal["poll"] = Field(description="nothing is right; what people think")
    options: tuple[PollOption, ...] = Field(min_length=2, max_length=12, description="what can be chosen")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.points:
            yield ("points",), "a poll has no points"


class Number(Base):
    """A number, within a tolerance."""

    type: Literal["number"] = Field(description="a number, within a tolerance")
    answer: Given = Field(description="a number, or an expression of the question's numbers")
    tolerance: Tolerance = Field(Tolerance(relative=1e-6), description="by how much an answer may be off")
    unit: str = Field("", max_length=40, description="shown beside the answer, which may have it behind the number")
    near: tuple[NearNumber, ...] = Field((), max_length=10, description="wrong answers with feedback of their own")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        yield from _uncomputable("answer", self.answer, self.numbers, ("answer",))
        for place, near in enumerate(self.near):
            yield from _uncomputable(f"near.{place}", near.answer, self.numbers, ("near", place, "answer"))


class Order(Base):
    """Items to be put in order; written in the right one. There are three at least: they are never shown in the right
    order, which of two would tell it."""

    type: Literal["order"] = Field(description="items to be put in order")
    items: tuple[Markdown, ...] = Field(min_length=3, max_length=10, description="Markdown, in the right order")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        yield from _twice("items", "items: the item", self.items)


class Match(Base):
    """What is on the right belongs to what is on the left; `extra` belongs to nothing."""

    type: Literal["match"] = Field(description="what belongs together")
    pairs: tuple[Pair, ...] = Field(min_length=2, max_length=10, description="what belongs together")
    extra: tuple[Markdown, ...] = Field((), max_length=5, description="Markdown; what belongs to nothing on the left")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        yield from _twice("pairs", "the left", (pair.left for pair in self.pairs))
        yield from _twice("pairs", "the right", self.rights)

    @property
    def rights(self) -> tuple[str, ...]:
        """All that can be chosen for a left: the right of pair i is number i."""
        return (*(pair.right for pair in self.pairs), *self.extra)


class Text(Base):
    """A few words; case and spaces don't matter."""

    type: Literal["text"] = Field(description="a few words")
    accept: tuple[Line, ...] = Field(min_length=1, max_length=50, description="right forms; the first one is shown")
    near: tuple[NearText, ...] = Field((), max_length=10, description="wrong answers with feedback of their own")


class Predict(Base):
    """What will come out of runs; the right answer is measured."""

    type: Literal["predict"] = Field(description="what will come out of runs")
    runs: dict[Name, RunWanted] = Field(min_length=1, max_length=4, description="by the names that truth calls them")
    truth: Line = Field(description="an expression of the runs' metrics, for instance `four.seconds / one.seconds`")
    kind: Literal["number", "rank"] = Field("number", description="a number, or which rank")
    unit: str = Field("", max_length=40, description="shown beside the answer, which may have it behind the number")
    tolerance: Tolerance = Field(Tolerance(relative=0.25), description="by how much a prediction may be off")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        yield from _uncomputable("truth", self.truth, self.runs, ("truth",))


class Place(Base):
    """Compose a placement; right is whatever puts the same ranks on the same cores as `right` does.

    A question gives the fields of `given`, learners choose those of `ask`.
    """

    type: Literal["place"] = Field(description="compose a placement")
    machine: Line = Field("2x4x2", description="a shape like 2x4x2, or this")
    given: dict[str, Any] = Field({}, description="fields of the placement that are decided already")
    ask: tuple[Composed, ...] = Field(min_length=1, max_length=7, description="fields that learners fill in")
    right: dict[str, Any] = Field(description="fields of ask with which it is right; others stay at their defaults")
    near: tuple[NearPlacement, ...] = Field((), max_length=10, description="wrong ones with feedback of their own")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        composed = [
            (("near", place, "placement"), f"near.{place}", one.placement) for place, one in enumerate(self.near)
        ]
        for path, where, chosen in ((("right",), "right", self.right), *composed):
            for name in sorted(set(chosen) - set(self.ask)):
                yield (*path, name), f"{where}: {name} should be in ask, or in given"
        for name in sorted(set(self.given) & set(self.ask)):
            yield ("given", name), f"given: {name} can't be given and asked for"


Question = Annotated[
    Single | Multiple | Number | Order | Match | Text | Poll | Predict | Place, Field(discriminator="type")
]


class Deck(DeckPart):
    """The questions of one quiz, in order."""

    deck: Id = Field(description="its name: small letters, digits and hyphens")
    title: Line = Field(description="what people see of it")
    lab: str = Field("", max_length=60, description="the lab that it belongs to")
    about: str = Field("", max_length=10_000, description="Markdown; what it is about and for whom")
    points: Points = Field(1, description="for a question that doesn't say")
    seconds: Seconds = Field(60, description="time limit in a round for a question that doesn't say")
    shuffle: bool = Field(True, description="shuffle the options of questions that don't say")
    questions: tuple[Question, ...] = Field(min_length=1, max_length=200, description="in the order of a round")

    @field_validator("questions")
    @classmethod
    def _have_names_of_their_own(cls, questions: tuple[Any, ...]) -> tuple[Any, ...]:
        for _, text in _twice("questions", "the id", (question.id for question in questions)):
            raise ValueError(text)
        return questions

    def question(self, id: str) -> Any:
        """Raises KeyError."""
        return {question.id: question for question in self.questions}[id]

    def points_of(self, question: Base) -> float:
        """What a right answer is worth."""
        if isinstance(question, Poll):
            return 0.0
        return self.points if question.points is None else question.points

    def seconds_of(self, question: Base) -> int:
        """How long a question is open in a round."""
        return question.seconds or self.seconds

    def shuffles(self, question: Base) -> bool:
        return self.shuffle if question.shuffle is None else question.shuffle


def _twice(field: str, what: str, texts: Iterable[str]) -> Iterator[Fault]:
    twice = [text for text, count in Counter(" ".join(text.split()) for text in texts).items() if count > 1]
    if twice:
        yield (field,), f"{what} {twice[0]!r} is there twice"


def _uncomputable(where: str, given: float | str, names: Collection[str], path: Where) -> Iterator[Fault]:
    if isinstance(given, str):
        try:
            expressions.parse(given, names)
        except ValueError as error:
            yield path, f"{where}: {error}"
