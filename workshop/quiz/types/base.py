"""The base class of all question types, and functions that several types use."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlencode

from pydantic import Field, model_validator

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import expressions
from workshop.quiz.form_errors import Mistake, Where, fault
from workshop.quiz.parts import LETTERS, Comment, DeckPart, Id, Line, Markdown, Name, Picture, Points, Range, Seconds
from workshop.quiz.rendering import html


@dataclass(frozen=True)
class Mark:
    """`share` of the points, from 0 to 1; `right` is None for a poll; `feedback` is HTML."""

    share: float
    right: bool | None
    feedback: tuple[str, ...] = ()


@dataclass(frozen=True)
class DrawnQuestion:
    """The variant of a question that a learner gets.

    `order` has the deck's number (from 0) of the option, item or right side that is shown at each place. It is empty
    for questions without such parts. The left sides of a match stay in the deck's order.
    """

    question: Question
    numbers: Mapping[str, float]
    order: tuple[int, ...]
    points: float  # for a right answer
    seconds: int  # time limit in a round
    lab: str  # whose notebook has the question's section

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The letter of each place."""
        return tuple(LETTERS[: len(self.order)])

    def key(self, number: int) -> str:
        """The letter under which an option, item or right side of the deck is shown."""
        return LETTERS[self.order.index(number)]


class Question(DeckPart):
    """A question of any type. Its `type` field names the type.

    `variant` is the question as a learner gets it. An answer is stored as JSON that doesn't depend on the variant:
    options, items and right sides are the deck's numbers, from 0. `form` names the form with which people answer
    (`workshop/web/quiz/static/question.js`); `view` has the form's data.
    """

    what: ClassVar[str] = "a question"  # the type in words
    form: ClassVar[str] = "text"
    marked: ClassVar[bool] = True  # whether an answer can be right
    measured: ClassVar[bool] = False  # whether the right answer is measured by runs
    slow: ClassVar[bool] = False  # whether grading starts a process

    if TYPE_CHECKING:
        type: str

    id: Id = Field(description="its name in this deck: small letters, digits and hyphens")
    text: Markdown = Field(description="Markdown; formulas between dollars, numbers as {name}")
    picture: Picture | None = Field(None, description="a picture beside it")
    explanation: Comment = Field("", description="Markdown that everybody sees after answering")
    points: Points | None = Field(None, description="for a right answer; default: the deck's")
    seconds: Seconds | None = Field(None, description="time limit in a round; default: the deck's")
    tags: tuple[Line, ...] = Field((), max_length=10, description="what it is about, in words to search for")
    section: str = Field("", max_length=120, description="the section of the lab's notebook that teaches it")
    difficulty: int = Field(2, ge=1, le=3, description="1: recall, 2: apply, 3: combine")
    source: str = Field("", max_length=500, description="where it comes from: a title, not a link")
    numbers: dict[Name, Range] = Field({}, description="values of their own for each learner")
    shuffle: bool | None = Field(None, description="default: the deck's")
    check: str = Field("", max_length=5_000, description="Python that leaves the right answer in `answer`")

    # Mistakes.

    def faults(self) -> Iterator[Mistake]:
        """Contradictions between parts of the question that are valid one by one."""
        for name in self.numbers:
            if name in expressions.FUNCTIONS:
                yield ("numbers",), f"numbers: {name} is the name of a function; a number needs another one"

    @model_validator(mode="after")
    def _has_no_faults(self) -> Self:
        for path, text in self.faults():
            raise fault(path, text)
        return self

    def problems(self) -> Iterator[Mistake]:
        """Mistakes in the content of this type's fields, whose form is valid."""
        yield from ()

    def slow_problems(self) -> Iterator[Mistake]:
        """Problems that only another process can find. Raises WorkshopError if it fails."""
        yield from ()

    # Display.

    def places(self, chance: random.Random, shuffle: bool) -> list[int]:
        """The deck's number of the option, item or right side at each place; empty for types without such parts."""
        return []

    def view(self, variant: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
        """The question as JSON for a browser, without anything that reveals the right answer.

        `picture` returns a picture's address or data URI.
        """
        return {
            "id": self.id,
            "type": self.type,
            "form": self.form,
            "measured": self.measured,
            "marked": self.marked,
            "html": html(self.text, variant.numbers),
            "picture": self.picture and {"src": picture(self.picture), "alt": self.picture.alt},
            "points": variant.points,
            "seconds": variant.seconds,
            "source": self.source,
        }

    def solution(self, variant: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
        """The right answer as JSON for a browser, shown after answering; `truth` is a prediction's measured value."""
        address = f"labs?{urlencode({'lab': variant.lab, 'section': self.section})}" if self.section else ""
        taught = {"section": self.section, "address": address}
        return {"html": "", "explanation": html(self.explanation, variant.numbers), **taught}

    def lines(self, variant: DrawnQuestion, answers: bool) -> Iterator[tuple[str, str, str]]:
        """The type's own parts for a terminal: texts, each with the indents of its first line and of its other lines.
        With `answers`, they show the right answer."""
        yield from ()

    def right_words(self, variant: DrawnQuestion) -> str:
        """The right answer in words; empty if `lines` shows it."""
        return ""

    # Answers.

    def read(self, variant: DrawnQuestion, raw: Any) -> Any:
        """Turn a browser's answer into the stored form, which is JSON. Raises BadInput with one sentence."""
        raise NotImplementedError

    def sent(self, variant: DrawnQuestion, answer: Any) -> Any:
        """Turn a stored answer back into the form that a browser sends."""
        return answer

    def grade(self, variant: DrawnQuestion, answer: Any, truth: float | None = None) -> Mark:
        """Grade a stored answer; `truth` is a prediction's measured value.

        Raises ValueError for a prediction without truth, WorkshopError if the process that grades fails.
        """
        raise NotImplementedError

    def hits(self, variant: DrawnQuestion, near: Any, answer: Any) -> bool:
        """Whether an answer shows one of the misconceptions in `near`."""
        return False


def repeated(field: str, what: str, texts: Iterable[str]) -> Iterator[Mistake]:
    """Report a text that is in a field twice."""
    repeats = [text for text, count in Counter(" ".join(text.split()) for text in texts).items() if count > 1]
    if repeats:
        yield (field,), f"{what} {repeats[0]!r} is there twice"


def uncomputable(where: str, value: float | str, names: Collection[str], path: Where) -> Iterator[Mistake]:
    """Report an expression that can't be read, or uses other names than these."""
    if isinstance(value, str):
        try:
            expressions.parse(value, names)
        except ValueError as error:
            yield path, f"{where}: {error}"


def keyed(variant: DrawnQuestion, texts: Sequence[str]) -> list[dict[str, str]]:
    """Texts of the deck in the order of the variant, each with its letter."""
    return [
        {"key": key, "html": html(texts[number], variant.numbers)}
        for key, number in zip(variant.keys, variant.order, strict=True)
    ]


def mixed(texts: Sequence[str], chance: random.Random) -> list[int]:
    """Shuffle the alphabetical order, so that the result doesn't depend on the deck's order, which is the answer."""
    places = sorted(range(len(texts)), key=texts.__getitem__)
    chance.shuffle(places)
    return places


def quoted(raw: Any) -> str:
    """A browser's answer, quoted in a sentence."""
    return words.quoted(raw) if isinstance(raw, str) else "That"


def read_key(variant: DrawnQuestion, raw: Any) -> int:
    """The deck's number of the part with this letter. Raises BadInput."""
    if not isinstance(raw, str) or raw not in variant.keys:
        raise BadInput(f"{quoted(raw)} is none of the answers; it should be one of {words.listed(variant.keys)}.")
    return variant.order[variant.keys.index(raw)]


def read_keys(variant: DrawnQuestion, raw: Any, done: str) -> list[int]:
    """The deck's numbers of the parts with these letters, which must be different. Raises BadInput."""
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes) or not raw:
        raise BadInput(f"{quoted(raw)} is no list of what is {done}; it should be one such as ['b', 'a'].")
    numbers = [read_key(variant, key) for key in raw]
    if len(set(numbers)) < len(numbers):
        raise BadInput(f"{quoted(raw)} has something in it twice; each can be {done} once.")
    return numbers
