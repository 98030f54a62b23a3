"""Writes a deck as Moodle GIFT: the questions that it can carry, and what is lost.

Texts are written as Markdown whose formulas are in the notation that MathJax finds in Moodle. Special characters are
escaped, and the name of the format precedes every text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz import rendering
from workshop.quiz.deck import Deck, ask
from workshop.quiz.parts import Tolerance, written
from workshop.quiz.types.match import Match
from workshop.quiz.types.number import Number, Text, value_of

TYPES = frozenset({"single", "multiple", "number", "match", "text"})  # that GIFT has
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\~=#{}:"} | {"\n": "\\n", "\r": None})


def write(deck: Deck) -> tuple[bytes, tuple[Loss, ...]]:
    """Return a deck as GIFT, and the losses. Raises BadInput if GIFT can carry none of its questions."""
    deck_parts = {"lab": deck.lab and f"its lab ({deck.lab})", "about": deck.about and "what it is about"}
    deck_parts["seconds"] = (
        deck.seconds != Deck.model_fields["seconds"].default and f"its time limit of {deck.seconds} s"
    )
    deck_parts["deck"] = f"its name ({deck.deck})"
    losses = [Loss("", what, part) for part, what in deck_parts.items() if what]
    blocks = [block for question in deck.questions if (block := _block(deck, question, losses))]
    if not blocks:
        what = words.listed(sorted({question.what for question in deck.questions}))
        raise BadInput(f"{deck.deck} has no question that GIFT can carry; it holds {what}.")
    return ("\n\n".join([f"$CATEGORY: {_category(deck.title)}", *blocks]) + "\n").encode(), tuple(losses)


def _block(deck: Deck, question: Any, losses: list[Loss]) -> str:
    """A question in GIFT; empty, with a loss, if GIFT can't carry it."""
    if question.type not in TYPES:
        losses.append(Loss(question.id, f"{question.what}; GIFT can't carry such a question", "question"))
        return ""
    try:
        question = _with_values(deck, question, losses)
    except ValueError as error:
        losses.append(Loss(question.id, f"its answer can't be computed: {error}", "question"))
        return ""
    answers = _answers(question, losses)
    if not answers:
        return ""
    losses += [Loss(question.id, str(what), part) for part, what in _parts(deck, question).items() if what]
    if question.explanation:
        answers.append("####" + _text(question.explanation))
    tags = [tag for tag in question.tags if not set(tag) & set("[]<>`\\")]
    if len(tags) < len(question.tags):
        losses.append(
            Loss(question.id, f"its tags ({', '.join(question.tags)}); GIFT has none with brackets in them", "tags")
        )
    comment = "// " + " ".join(f"[tag:{tag}]" for tag in tags) + "\n" if len(tags) == len(question.tags) > 0 else ""
    brace = "{#" if isinstance(question, Number) else "{"
    lines = "".join(f"\t{answer}\n" for answer in answers)
    return f"{comment}::{_escaped(question.id)}::{_text(question.text)}{brace}\n{lines}}}"


def _answers(question: Any, losses: list[Loss]) -> list[str]:
    if isinstance(question, Match):
        lefts = [*(f"{_text(pair.left, arrow=True)} " for pair in question.pairs), *(" " for _ in question.extra)]
        rights = _rights(question, losses)  # none where two of them are equal
        return [f"={first}-> {_escaped(second)}" for first, second in zip(lefts, rights, strict=False)]
    if isinstance(question, Text):
        return _words(question, losses)
    if isinstance(question, Number):
        answers = [f"=%100%{_decimal(question.answer)}:{_margin(question.tolerance, question.answer)}"]
        for near in question.near:
            off = _margin(near.tolerance or question.tolerance, near.answer)
            answers.append(f"=%0%{_decimal(near.answer)}:{off}#{_text(near.feedback)}")
        return answers
    each = 100 / len(question.right)  # percent of the points for each right option
    answers = []
    for option in question.options:
        mark = f"~%{'' if option.right else '-'}{each:.7g}%"
        if question.type == "single":
            mark = "=" if option.right else "~"
        answers.append(mark + _text(option.text) + (f"#{_text(option.feedback)}" if option.feedback else ""))
    return answers


def _words(question: Text, losses: list[Loss]) -> list[str]:
    if any("->" in form for form in (*question.accept, *(form for near in question.near for form in near.accept))):
        losses.append(
            Loss(question.id, "an accepted form with ->, which makes GIFT take it for pairs to be matched", "question")
        )
        return []
    answers = [f"=%100%{_form(form)}" for form in question.accept]
    for near in question.near:
        feedback = _text(near.feedback, arrow=True)
        answers += [f"=%0%{_form(form)}#{feedback}" for form in near.accept]
    return answers


def _text(markdown: str, arrow: bool = False) -> str:
    """A text behind the name of its format. With `arrow`, -> is written as an entity, since it would begin a pair."""
    text = to_moodle(markdown)
    return "[markdown]" + _escaped(text.replace("->", "-&gt;") if arrow else text)


def _form(words: str) -> str:
    """An accepted form. Its stars are escaped, because a star is a wildcard; behind [plain], % and [ are ordinary."""
    return "[plain]" + _escaped(words.replace("*", "\\*"))


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


def _rights(question: Match, losses: list[Loss]) -> list[str]:
    """The right sides of a match as plain text; empty, with a loss of the question, if two of them are equal then."""
    plain = [rendering.plain(right) for right in question.rights]
    if len(set(plain)) < len(plain) or not all(plain):
        losses.append(Loss(question.id, "answers that are equal without their formatting", "question"))
        return []
    if any(text != right.strip() for text, right in zip(plain, question.rights, strict=True)):
        losses.append(
            Loss(question.id, "the formatting of what is on the right; GIFT has plain text there", "formatting")
        )
    return plain


def _decimal(value: float | str) -> str:
    """A number without an exponent: 0.00005 for 5e-05."""
    return f"{Decimal(repr(float(value) + 0.0)).normalize():f}"  # -0.0 becomes 0.0


def _category(title: str) -> str:
    """A title as the last part of Moodle's path of categories. There, a slash inside of a name is doubled. A space
    separates a slash at the title's beginning from the slash of the path."""
    doubled = " ".join(title.split()).replace("/", "//")
    return f" {doubled}" if doubled.startswith("/") else doubled


def _margin(tolerance: Tolerance, value: float | str) -> str:
    """How far an answer may be off from this exact value, without rounding errors."""
    return _decimal(float(f"{tolerance.around(float(value)):.15g}"))


def _parts(deck: Deck, question: Any) -> dict[str, str | bool]:
    """The fields that GIFT lacks, in words; empty if the question doesn't use the field."""
    points, picture = deck.points_of(question), question.picture
    unmixed = hasattr(question, "options") and not deck.shuffles(question)
    return {
        "points": points != 1 and f"its points ({points:g})",
        "seconds": bool(question.seconds) and f"its time limit of {question.seconds} s",
        "picture": picture is not None and f"its picture {picture.file}",
        "source": bool(question.source) and f"its source ({question.source})",
        "check": bool(question.check) and "the code that checks its answer",
        "shuffle": unmixed and "that its options aren't shuffled",
        "unit": bool(getattr(question, "unit", "")) and f"its unit ({question.unit})",
    }


def _with_values(deck: Deck, question: Any, losses: list[Loss]) -> Any:
    """The question with values in place of the numbers' names. Raises ValueError if its answer has no value."""
    numbers = ask(deck, question, "export").numbers
    changed: dict[str, Any] = {}
    if numbers:
        values = ", ".join(f"{name} = {written(value)}" for name, value in numbers.items())
        losses.append(Loss(question.id, f"numbers of their own for each learner; all get {values}", "numbers"))
        changed = _with_numbers(question.model_dump(), numbers)
    if isinstance(question, Number):
        near = changed.get("near") or question.model_dump()["near"]
        changed["near"] = [wrong | {"answer": value_of(wrong["answer"], numbers)} for wrong in near]
        changed["answer"] = value_of(question.answer, numbers)
    if not changed:
        return question
    return type(question).model_validate(question.model_dump() | changed | {"numbers": {}})


def _with_numbers(value: Any, numbers: Mapping[str, float]) -> Any:
    """Put the values of `{name}` into all texts that learners see."""
    if isinstance(value, dict):
        others = ("id", "type", "numbers", "check", "answer", "unit")
        return value | {key: _with_numbers(item, numbers) for key, item in value.items() if key not in others}
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


# A formula of ours, outside of code; a formula in Moodle's Markdown; a formula in a text without a format.
_OURS = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\\."
    r"|(?<![0-9$])(?P<mark>\${1,2})(?=\S)(?P<tex>.+?)(?<![\s\\])(?P=mark)(?![0-9$])",
    re.DOTALL,
)
_MARKDOWN = re.compile(r"\\\\\((.+?)\\\\\)|\\\\\[(.+?)\\\\\]", re.DOTALL)
_PLAIN = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$", re.DOTALL)
_HTML = re.compile(r"</?[A-Za-z][^<>]*>|&#?\w+;")
# Characters of plain text that Markdown would read as marks.
_MARKS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\s|$)|`|\$|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<! )\*|\*(?! )"
    r"|\[|\](?=[(\[:])|<(?=[A-Za-z][^<>\s]*[:@])|&(?=#?\w+;)|\{(?=[a-z][a-z0-9_]*\})"
)
_BEGINS = re.compile(r"^(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|=+\s*$|[|:-][\s:|-]*$)")
_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")


def to_moodle(markdown: str) -> str:
    """Markdown for Moodle: formulas between \\\\( and \\\\), with backslashes before marks that Markdown would read."""

    def formula(match: re.Match[str]) -> str:
        if match["mark"] is None:
            return match[0]
        tex = re.sub(r"[\\`*_{}\[\]<>#]", r"\\\g<0>", match["tex"].strip())
        return f"\\\\({tex}\\\\)" if match["mark"] == "$" else f"\\\\[{tex}\\\\]"

    return _OURS.sub(formula, markdown.strip())


def from_moodle(text: str, format: str) -> str:
    """A text as Markdown, by the name of its format: markdown, plain, or moodle, which is plain text with formulas.
    Raises ValueError for HTML."""
    text = text.strip()
    if format == "html" or (format == "moodle" and _HTML.search(text)):
        raise ValueError("its text is HTML, which decks don't have; write it as Markdown, behind [markdown]")
    if format == "markdown":
        return _MARKDOWN.sub(_formula_of_markdown, text)
    if format == "plain":
        return escaped(text)
    parts, end = [], 0
    for match in _PLAIN.finditer(text):
        tex = next(group for group in match.groups() if group is not None).strip()
        parts += [_marked(text[end : match.start()]), f"${tex}$" if match[1] else f"$${tex}$$"]
        end = match.end()
    return _lines("".join(parts) + _marked(text[end:]))


def _formula_of_markdown(match: re.Match[str]) -> str:
    tex = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", (match[1] or match[2]).strip())
    return f"${tex}$" if match[1] else f"$${tex}$$"


def escaped(text: str) -> str:
    """Plain text as Markdown that reads the same."""
    return _lines(_marked(text.strip()))


def _marked(text: str) -> str:
    return _MARKS.sub(lambda match: "\\" + match[0], text)


def _lines(text: str) -> str:
    """Escape what begins a list, heading or table at the beginning of a line."""
    lines = (_BEGINS.sub(r"\\", line.strip()) for line in text.split("\n"))
    return "\n".join(_NUMBERED.sub(r"\1\\", line) for line in lines)


@dataclass(frozen=True)
class Loss:
    """A loss: something that GIFT can't carry, or that a deck can't contain."""

    question: str  # its id or title; empty for the whole deck
    what: str  # in words
    part: str = ""  # a field of the question or the deck; "question" for all of it; empty if decks have no such field

    def __str__(self) -> str:
        return f"{self.question}: {self.what}" if self.question else self.what

    def as_json(self) -> dict[str, Any]:
        return {"question": self.question or None, "part": self.part or None, "what": self.what}
