"""What writing a format has in common: which questions it can carry, and what of them it can't."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import expressions, rendering
from workshop.quiz.deck import Base, Deck, Match, Multiple, Number, Text
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Lost
from workshop.quiz.parts import Tolerance
from workshop.quiz.randomisation import ask, written

USUAL_SECONDS = Deck.model_fields["seconds"].default
_WHAT = {
    "poll": "a poll, where nothing is right",
    "predict": "a prediction, whose answer is measured",
    "place": "a placement to be composed",
    "number": "a number",
    "order": "items to be put in order",
    "match": "pairs to be matched",
    "text": "an answer in words",
    "multiple": "a choice of several options",
    "single": "a single choice",
}


@dataclass(frozen=True)
class Capacity:
    """What a format has room for."""

    title: str  # of the format
    types: frozenset[str]
    parts: frozenset[str]  # fields of questions and decks


@dataclass
class Exportable:
    """The questions that are written, and what is lost of the deck."""

    questions: list[Any] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)

    def lose(self, question: Base, part: str, what: str) -> None:
        self.lost.append(Lost(question.id, what, part))


def exportable(deck: Deck, carries: Capacity, pictures: Mapping[str, bytes]) -> Exportable:
    """The questions of a deck that a format can carry, their numbers drawn. Raises BadInput where there is none."""
    made = Exportable()
    whole = {"lab": deck.lab and f"its lab ({deck.lab})", "about": deck.about and "what it is about"}
    whole["seconds"] = deck.seconds != USUAL_SECONDS and f"its time limit of {deck.seconds} s"
    whole["id"] = "the names of its questions"
    whole["title"], whole["deck"] = f"its title ({deck.title})", f"its name ({deck.deck})"
    made.lost += [Lost("", what, part) for part, what in whole.items() if what and part not in carries.parts]
    for question in deck.questions:
        if question.type not in carries.types:
            made.lose(question, "question", f"{_WHAT[question.type]}; {carries.title} can't carry such a question")
            continue
        try:
            made.questions.append(_drawn(deck, question, made))
        except ValueError as error:
            made.lose(question, "question", f"its answer can't be computed: {error}")
            continue
        for part, what in _parts(deck, question, pictures).items():
            if what and (part not in carries.parts or part == "picture"):
                made.lose(question, part, what)
    if not made.questions:
        what = words.listed(sorted({_WHAT[one.type] for one in deck.questions}))
        raise BadInput(f"{deck.deck} has no question that {carries.title} can carry; it holds {what}.")
    return made


def rights(question: Match, made: Exportable, title: str) -> list[str]:
    """What is on the right of a match as plain text; empty, and told, where that can't be told apart."""
    plain = [markup.plain(right) for right in question.rights]
    if len(set(plain)) < len(plain) or not all(plain):
        made.lose(question, "question", "answers that are alike without their formatting")
        return []
    if any(markup.marked(right) for right in question.rights):
        made.lose(question, "formatting", f"the formatting of what is on the right; {title} has plain text there")
    return plain


def share(question: Multiple, made: Exportable) -> float:
    """What each right option of a choice is worth, in percent."""
    if len(question.right) > 10:
        made.lose(question, "", f"that its {len(question.right)} right options share the points; Moodle has tenths")
    return 100 / len(question.right)


def decimal(value: float) -> str:
    """A number without an exponent, which readers of GIFT and Moodle XML need not know: 0.00005 for 5e-05."""
    return f"{Decimal(repr(value + 0.0)).normalize():f}"  # -0.0 becomes 0.0


def category(title: str) -> str:
    """A title as the last part of Moodle's path of categories, in which a slash that belongs to a name is written
    twice. A slash that the title begins with is kept apart from the path's own by a space."""
    doubled = " ".join(title.split()).replace("/", "//")
    return f" {doubled}" if doubled.startswith("/") else doubled


def margin(tolerance: Tolerance, value: float) -> str:
    """By how much an answer may be off from this right one, without the noise of a product's last digits."""
    return decimal(float(f"{tolerance.around(value):.15g}"))


def _parts(deck: Deck, question: Any, pictures: Mapping[str, bytes]) -> dict[str, str | bool]:
    """What formats may lack of a question, in words; empty where it has none of it."""
    points, picture = deck.points_of(question), question.picture
    unmixed = question.type in ("single", "multiple", "poll") and not deck.shuffles(question)
    return {
        "points": points != 1 and f"its points ({points:g})",
        "seconds": bool(question.seconds) and f"its time limit of {question.seconds} s",
        "picture": picture is not None and picture.file not in pictures and f"its picture {picture.file}",
        "explanation": bool(question.explanation) and "its explanation",
        "tags": bool(question.tags) and f"its tags ({', '.join(question.tags)})",
        "source": bool(question.source) and f"its source ({question.source})",
        "check": bool(question.check) and "the code that checks its answer",
        "shuffle": unmixed and "that its options aren't shuffled",
        "unit": isinstance(question, Number) and bool(question.unit) and f"its unit ({question.unit})",
        "feedback": _has_feedback(question) and "the feedback on its answers",
    }


def _has_feedback(question: Any) -> bool:
    if isinstance(question, Number | Text):
        return bool(question.near)
    return any(getattr(option, "feedback", "") for option in getattr(question, "options", ()))


def _drawn(deck: Deck, question: Any, made: Exportable) -> Any:
    """The question with numbers in place of their names. Raises ValueError where its answer has no value."""
    drawn = ask(deck, question, "export").numbers
    changed: dict[str, Any] = {}
    if drawn:
        told = ", ".join(f"{name} = {written(value)}" for name, value in drawn.items())
        made.lose(question, "numbers", f"numbers of their own for each learner; all get {told}")
        changed = _with_numbers(question.model_dump(), drawn)
    if isinstance(question, Number):
        changed["answer"] = _value(question.answer, drawn)
        near = changed.get("near", question.model_dump()["near"])
        changed["near"] = [one | {"answer": _value(one["answer"], drawn)} for one in near]
    if not changed:
        return question
    return type(question).model_validate(question.model_dump() | changed | {"numbers": {}})


def _value(answer: float | str, drawn: Mapping[str, float]) -> float:
    return expressions.evaluate(answer, drawn) if isinstance(answer, str) else float(answer)


def _with_numbers(value: Any, drawn: Mapping[str, float]) -> Any:
    """The same with `{name}` put in, in all texts that learners see."""
    if isinstance(value, dict):
        seen = {
            key: one for key, one in value.items() if key not in ("id", "type", "numbers", "check", "answer", "unit")
        }
        return value | {key: _with_numbers(one, drawn) for key, one in seen.items()}
    if isinstance(value, list | tuple):
        return [_with_numbers(one, drawn) for one in value]
    return _put_in(value, drawn) if isinstance(value, str) else value


def _put_in(text: str, drawn: Mapping[str, float]) -> str:
    """Markdown with its numbers, but not in code; in formulas as `rendering` does it."""
    names = "|".join(map(re.escape, drawn))
    looked_for = re.compile(
        rf"(`+)(?!`).+?(?<!`)\1(?!`)|\\.|(?P<tex>\$+)(?P<in>.+?)(?P=tex)|\{{(?P<name>{names})\}}", re.DOTALL
    )

    def put(found: re.Match[str]) -> str:
        if found["name"]:
            return written(drawn[found["name"]])
        if found["tex"]:
            return found["tex"] + rendering.put_in(found["in"], drawn) + found["tex"]
        return found[0]

    return looked_for.sub(put, text)
