"""The common parts of all exports: choosing the questions that a format can carry, and listing losses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import rendering
from workshop.quiz.deck import Deck
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Lost
from workshop.quiz.parts import Tolerance
from workshop.quiz.randomisation import ask, written
from workshop.quiz.types import Question
from workshop.quiz.types.choice import Multiple
from workshop.quiz.types.match import Match

USUAL_SECONDS = Deck.model_fields["seconds"].default


@dataclass(frozen=True)
class Capacity:
    """The question types and fields that a format can carry."""

    title: str  # of the format
    types: frozenset[str]
    parts: frozenset[str]  # fields of questions and decks


@dataclass
class Exportable:
    """The questions to be written, and the losses."""

    questions: list[Any] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def lose(self, question: Question, part: str, what: str) -> None:
        self.lost.append(Lost(question.id, what, part))


def exportable(deck: Deck, carries: Capacity, pictures: Mapping[str, bytes]) -> Exportable:
    """The questions that a format can carry, with values for their numbers. Raises BadInput if there is none."""
    export = Exportable()
    deck_parts = {"lab": deck.lab and f"its lab ({deck.lab})", "about": deck.about and "what it is about"}
    deck_parts["seconds"] = deck.seconds != USUAL_SECONDS and f"its time limit of {deck.seconds} s"
    deck_parts["id"] = "the names of its questions"
    deck_parts["title"], deck_parts["deck"] = f"its title ({deck.title})", f"its name ({deck.deck})"
    export.lost += [Lost("", what, part) for part, what in deck_parts.items() if what and part not in carries.parts]
    for question in deck.questions:
        if question.type not in carries.types:
            export.lose(question, "question", f"{question.what}; {carries.title} can't carry such a question")
            continue
        try:
            export.questions.append(_with_values(deck, question, export))
        except ValueError as error:
            export.lose(question, "question", f"its answer can't be computed: {error}")
            continue
        for part, what in _parts(deck, question, pictures).items():
            if what and (part not in carries.parts or part == "picture"):
                export.lose(question, part, str(what))
    if not export.questions:
        what = words.listed(sorted({question.what for question in deck.questions}))
        raise BadInput(f"{deck.deck} has no question that {carries.title} can carry; it holds {what}.")
    return export


def rights(question: Match, export: Exportable, title: str) -> list[str]:
    """The right sides of a match as plain text; empty, with a loss of the question, if two of them are equal then."""
    plain = [markup.plain(right) for right in question.rights]
    if len(set(plain)) < len(plain) or not all(plain):
        export.lose(question, "question", "answers that are equal without their formatting")
        return []
    if any(markup.marked(right) for right in question.rights):
        export.lose(question, "formatting", f"the formatting of what is on the right; {title} has plain text there")
    return plain


def share(question: Multiple, export: Exportable) -> float:
    """The points of each right option of a choice, in percent."""
    if len(question.right) > 10:
        export.lose(question, "", f"that its {len(question.right)} right options share the points; Moodle has tenths")
    return 100 / len(question.right)


def decimal(value: float | str) -> str:
    """A number without an exponent, for readers of GIFT and Moodle XML: 0.00005 for 5e-05."""
    return f"{Decimal(repr(float(value) + 0.0)).normalize():f}"  # -0.0 becomes 0.0


def category(title: str) -> str:
    """A title as the last part of Moodle's path of categories. There, a slash inside of a name is doubled. A space
    separates a slash at the title's beginning from the slash of the path."""
    doubled = " ".join(title.split()).replace("/", "//")
    return f" {doubled}" if doubled.startswith("/") else doubled


def margin(tolerance: Tolerance, value: float | str) -> str:
    """How far an answer may be off from this exact value, without rounding errors."""
    return decimal(float(f"{tolerance.around(float(value)):.15g}"))


def _parts(deck: Deck, question: Any, pictures: Mapping[str, bytes]) -> dict[str, str | bool]:
    """The fields that a format may lack, in words; empty if the question doesn't use the field."""
    points, picture = deck.points_of(question), question.picture
    unmixed = hasattr(question, "options") and not deck.shuffles(question)
    return {
        "points": points != 1 and f"its points ({points:g})",
        "seconds": bool(question.seconds) and f"its time limit of {question.seconds} s",
        "picture": picture is not None and picture.file not in pictures and f"its picture {picture.file}",
        "explanation": bool(question.explanation) and "its explanation",
        "tags": bool(question.tags) and f"its tags ({', '.join(question.tags)})",
        "source": bool(question.source) and f"its source ({question.source})",
        "check": bool(question.check) and "the code that checks its answer",
        "shuffle": unmixed and "that its options aren't shuffled",
        "unit": bool(getattr(question, "unit", "")) and f"its unit ({question.unit})",
        "feedback": question.feedbacks() and "the feedback on its answers",
    }


def _with_values(deck: Deck, question: Any, export: Exportable) -> Any:
    """The question with values in place of the numbers' names. Raises ValueError if its answer has no value."""
    numbers = ask(deck, question, "export").numbers
    changed: dict[str, Any] = {}
    if numbers:
        values = ", ".join(f"{name} = {written(value)}" for name, value in numbers.items())
        export.lose(question, "numbers", f"numbers of their own for each learner; all get {values}")
        changed = _with_numbers(question.model_dump(), numbers)
    changed |= question.with_numbers(changed or question.model_dump(), numbers)
    if not changed:
        return question
    return type(question).model_validate(question.model_dump() | changed | {"numbers": {}})


def _with_numbers(value: Any, numbers: Mapping[str, float]) -> Any:
    """Put the values of `{name}` into all texts that learners see."""
    if isinstance(value, dict):
        texts = {
            key: item for key, item in value.items() if key not in ("id", "type", "numbers", "check", "answer", "unit")
        }
        return value | {key: _with_numbers(item, numbers) for key, item in texts.items()}
    if isinstance(value, list | tuple):
        return [_with_numbers(item, numbers) for item in value]
    return _put_in(value, numbers) if isinstance(value, str) else value


def _put_in(text: str, numbers: Mapping[str, float]) -> str:
    """Put numbers into Markdown, but not into code; in formulas `rendering` does it."""
    names = "|".join(map(re.escape, numbers))
    code_formula_or_name = re.compile(
        rf"(`+)(?!`).+?(?<!`)\1(?!`)|\\.|(?P<tex>\$+)(?P<in>.+?)(?P=tex)|\{{(?P<name>{names})\}}", re.DOTALL
    )

    def put(match: re.Match[str]) -> str:
        if match["name"]:
            return written(numbers[match["name"]])
        if match["tex"]:
            return match["tex"] + rendering.put_in(match["in"], numbers) + match["tex"]
        return match[0]

    return code_formula_or_name.sub(put, text)
