"""Moodle GIFT. The grammar is that of Moodle's import (question/format/gift), but blank lines inside of braces are
allowed.

Texts are written as Markdown, and texts with formulas as HTML, in which MathJax finds them. Special characters are
escaped, and the name of the format precedes every text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import importer, markdown_writer, markup
from workshop.quiz.formats.base import Exported, Imported, Lost
from workshop.quiz.formats.exporter import Capacity, Exportable, category, decimal, exportable, margin, rights, share
from workshop.quiz.formats.importer import DeckBuilder
from workshop.quiz.types.match import Match
from workshop.quiz.types.number import Number
from workshop.quiz.types.text import Text

_CARRIES = Capacity(
    "GIFT",
    frozenset({"single", "multiple", "number", "match", "text"}),
    frozenset({"explanation", "tags", "feedback", "id", "title"}),
)
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\~=#{}:"} | {"\n": "\\n", "\r": None})


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """Write a deck as GIFT. Raises BadInput if GIFT can carry none of its questions."""
    export = exportable(deck, _CARRIES, {})
    blocks = [f"$CATEGORY: {category(deck.title)}"]
    for question in export.questions:
        if block := _question(question, export):
            blocks.append(block)
    return Exported(("\n\n".join(blocks) + "\n").encode(), tuple(export.lost))


def _question(question: Any, export: Exportable) -> str:
    answers = _answers(question, export)
    if not answers:
        return ""
    if question.explanation:
        answers.append("####" + _text(question.explanation))
    tags = [tag for tag in question.tags if not set(tag) & set("[]<>`\\")]
    if len(tags) < len(question.tags):
        export.lose(question, "tags", f"its tags ({', '.join(question.tags)}); GIFT has none with brackets in them")
    comment = "// " + " ".join(f"[tag:{tag}]" for tag in tags) + "\n" if len(tags) == len(question.tags) > 0 else ""
    brace = "{#" if isinstance(question, Number) else "{"
    lines = "".join(f"\t{answer}\n" for answer in answers)
    return f"{comment}::{_escaped(question.id)}::{_text(question.text)}{brace}\n{lines}}}"


def _answers(question: Any, export: Exportable) -> list[str]:
    if isinstance(question, Match):
        lefts = [*(f"{_text(pair.left, arrow=True)} " for pair in question.pairs), *(" " for _ in question.extra)]
        plain = rights(question, export, "GIFT")  # none where two of them are equal
        return [f"={left_text}-> {_escaped(right)}" for left_text, right in zip(lefts, plain, strict=False)]
    if isinstance(question, Text):
        return _words(question, export)
    if isinstance(question, Number):
        answers = [f"=%100%{decimal(question.answer)}:{margin(question.tolerance, question.answer)}"]
        for near in question.near:
            off = margin(near.tolerance or question.tolerance, near.answer)
            answers.append(f"=%0%{decimal(near.answer)}:{off}#{_text(near.feedback)}")
        return answers
    each = share(question, export)
    answers = []
    for option in question.options:
        if question.type == "single":
            mark = "=" if option.right else "~"
        else:
            mark = f"~%{'' if option.right else '-'}{each:.7g}%"
        answers.append(mark + _text(option.text) + (f"#{_text(option.feedback)}" if option.feedback else ""))
    return answers


def _words(question: Text, export: Exportable) -> list[str]:
    if any("->" in form for form in (*question.accept, *(form for near in question.near for form in near.accept))):
        export.lose(question, "question", "an accepted form with ->, which makes GIFT take it for pairs to be matched")
        return []
    answers = [f"=%100%{_form(form)}" for form in question.accept]
    for near in question.near:
        feedback = _text(near.feedback, arrow=True)
        answers += [f"=%0%{_form(form)}#{feedback}" for form in near.accept]
    return answers


def _text(markdown: str, arrow: bool = False) -> str:
    """A text behind the name of its format. With `arrow`, a text with -> is written as HTML, which escapes it."""
    html = markup.html(markdown).strip()
    formulas = any(sign in html for sign in ("\\(", "\\[", "<span></span>"))
    if formulas or (arrow and "->" in markdown):
        return "[html]" + _escaped(html)
    return "[markdown]" + _escaped(markdown.strip())


def _form(words: str) -> str:
    """An accepted form. Its stars are escaped, because a star is a wildcard; behind [plain], % and [ are ordinary."""
    return "[plain]" + _escaped(words.replace("*", "\\*"))


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)


# While a text is parsed, characters of a private plane stand for its escaped characters.
_PRIVATE = 0xF0000
_ESCAPED = re.compile(r"\\(\\|[~=#{}:n])")
_WEIGHT = re.compile(r"%(-?\d{1,3}(?:\.\d*)?)%")
_FORMAT = re.compile(r"\A\s*\[(html|markdown|plain|moodle)\]")
_TAG = re.compile(r"\[(tag|id):((?:\\\]|[^\]])+)\]")
_BLANK = re.compile(r"\n[ \t]*\n")
_TRUE, _FALSE = {"T", "TRUE"}, {"F", "FALSE"}


@dataclass
class _GiftBlock:
    """One question of the file; escaped characters are hidden."""

    line: int
    text: str
    tags: list[str] = field(default_factory=list)
    id: str = ""


@dataclass
class _GiftAnswer:
    text: str
    weight: float  # 1: all points
    feedback: str


class _GiftReader:
    def __init__(self, name: str) -> None:
        self.builder = DeckBuilder(name)
        self.format = "moodle"
        self.lost: list[str] = []

    def markdown(self, text: str) -> str:
        """A text as Markdown, from its own format or the question's."""
        match = _FORMAT.match(text)
        format, words = (match[1], text[match.end() :]) if match else (self.format, text)
        converted = importer.converted(_unhidden(words), format)
        self.lost += converted.lost + [f"the picture {address[:60]}" for address, _ in converted.pictures]
        return converted.text

    def plain(self, text: str) -> str:
        return _unhidden(_FORMAT.sub("", text, count=1)).strip()

    def question(self, block: _GiftBlock) -> None:
        self.lost, self.format = [], "moodle"
        title, text = "", block.text
        if text.startswith("::") and "::" in text[2:]:
            title, text = text[2:].split("::", 1)
            title, text = _unhidden(title).strip(), text.strip()
        before, brace, rest = text.partition("{")
        inside, _, after = rest.partition("}")
        if text.count("{") > text.count("}") or ("{" in inside and _BLANK.search(text)):  # it swallows later questions
            raise BadInput(f"{self.builder.name}, line {block.line}: a brace {{ that isn't closed; each needs a }}.")
        if match := _FORMAT.match(text):
            self.format = match[1]
        label = title or _unhidden(_FORMAT.sub("", before, count=1))
        if not brace and "}" not in text:
            self.builder.leave(label, "not taken: a description, which asks for nothing")
            return
        if set("{}") & {*before, *inside, *after}:
            self.builder.leave(label, f"not taken: {_several(text)}")
            return
        gap = r"\_\_\_\_\_" if self.format == "markdown" else "_____"
        question_text = before.rstrip() if not after.strip() else before + gap + after
        inside, _, explanation = inside.rpartition("####") if "####" in inside else (inside, "", "")
        fields: dict[str, Any] = {"text": self.markdown(question_text), "explanation": self.markdown(explanation)}
        fields |= {"id": self.builder.new_id(title or block.id or fields["text"][:60]), "tags": block.tags}
        try:
            fields |= self.answers(inside.strip())
        except ValueError as error:
            self.builder.leave(label, f"not taken: {error}")
            return
        self.builder.add(fields, self.lost)

    def answers(self, text: str) -> dict[str, Any]:
        """The type and the answers of a question. Raises ValueError with the reason if decks can't contain it."""
        if not text:
            raise ValueError("an essay, which a person has to judge")
        if text.startswith("#"):
            return self.numbers(text[1:])
        if "~" in text:
            return self.choices(text)
        if "=" in text and "->" in text:
            return self.pairs(text)
        first, *feedback = text.split("#")
        if first.strip() in _TRUE | _FALSE:
            return self.true_or_false(first.strip() in _TRUE, feedback)
        return self.words(text)

    def listed(self, text: str, first: str = "=") -> list[_GiftAnswer]:
        """The answers in braces; `first` is the sign of a first answer without a sign.

        As in Moodle, answers without a text don't count: `~=right` is one answer.
        """
        answers = _listed(text if text.lstrip().startswith(("=", "~")) else first + text)
        self.lost += [
            "the feedback on an answer without a text" for answer in answers if answer.feedback and not answer.text
        ]
        return [answer for answer in answers if answer.text]

    def choices(self, text: str) -> dict[str, Any]:
        options = []
        for answer in self.listed(text, "~"):
            feedback = self.markdown(answer.feedback)
            options.append({"text": self.markdown(answer.text), "feedback": feedback, "share": answer.weight})
        question, lost = importer.choices(options, "=" in text)
        self.lost += lost
        return question

    def true_or_false(self, true: bool, feedback: list[str]) -> dict[str, Any]:
        wrong, right = (self.markdown(part) for part in [*feedback, "", ""][:2])
        options = [
            {"text": text, "right": yes == true, "feedback": right if yes == true else wrong}
            for text, yes in (("True", True), ("False", False))
        ]
        return {"type": "single", "options": options, "shuffle": False}

    def words(self, text: str) -> dict[str, Any]:
        answers = self.listed(text)
        return importer.forms(
            ((self.plain(answer.text), answer.weight, self.markdown(answer.feedback)) for answer in answers), self.lost
        )

    def numbers(self, text: str) -> dict[str, Any]:
        text, _, wrong = text.partition("~")
        if "#" in wrong and self.markdown(wrong.split("#", 1)[1]):
            self.lost.append("the feedback on any other number")
        parsed = self.listed(text)
        answers = (
            (*_range(self.plain(answer.text)), answer.weight, self.markdown(answer.feedback)) for answer in parsed
        )
        return importer.numbers(answers, self.lost)

    def pairs(self, text: str) -> dict[str, Any]:
        pairs = []
        for piece in filter(str.strip, text.split("=")):
            left_text, arrow, right = piece.partition("->")
            if not arrow:
                raise ValueError(f"{_unhidden(piece).strip()[:40]!r} should have -> in it, as all pairs")
            pairs.append((self.markdown(left_text), markdown_writer.escaped(_unhidden(right).strip())))
        return importer.matches(pairs)


def read(data: bytes, name: str) -> Imported:
    """Read a deck from GIFT. Raises BadInput with the file and the line."""
    reader = _GiftReader(name)
    paths: list[str] = []
    for block in _blocks(importer.text_of(data, name, "GIFT")):
        if block.text.startswith("$CATEGORY:"):
            paths.append(_raw(block.text[len("$CATEGORY:") :]).strip())
        else:
            reader.question(block)
    builder = reader.builder
    if paths:
        builder.title = builder.id = importer.category(paths[0])
        if len(set(paths)) > 1:
            builder.lost.append(Lost("", f"its {len(set(paths))} categories; all questions are in one deck"))
    return builder.imported()


def _blocks(text: str) -> Iterator[_GiftBlock]:
    """Questions and categories, separated by blank lines outside of braces."""
    lines: list[str] = []
    tags: list[str] = []
    id, began, depth = "", 1, 0
    for number, line in enumerate([*_hidden(text).split("\n"), ""], 1):
        if line.lstrip().startswith("//"):
            for kind, value in _TAG.findall(line):
                value = _unhidden(value).replace("\\]", "]").strip()
                tags, id = ([*tags, value], id) if kind == "tag" else (tags, value)
            continue
        if line.strip() or depth:
            if not lines:
                began = number
            lines.append(line)
            depth = max(0, depth + line.count("{") - line.count("}"))
        if lines and (lines[0].lstrip().startswith("$CATEGORY:") or (not line.strip() and not depth)):
            yield _GiftBlock(began, "\n".join(lines).strip(), list(dict.fromkeys(tags)), id)
            lines, tags, id, depth = [], [], "", 0
    if lines:
        yield _GiftBlock(began, "\n".join(lines).strip(), tags, id)


def _several(text: str) -> str:
    """Why a question without exactly one pair of braces isn't imported."""
    pairs = text.count("{")
    problem = "a brace } that nothing opens" if text.count("}") > pairs else f"{pairs} pairs of braces (gaps)"
    return f"{problem}; a question has one pair, with its answers, and braces of a text are written \\{{ and \\}}"


def _listed(text: str) -> list[_GiftAnswer]:
    """Answers with their weights: 1 for =, 0 for ~, or the number in %…%."""
    answers = []
    for sign, piece in re.findall(r"([=~])([^=~]*)", text):
        weight, piece = 1.0 if sign == "=" else 0.0, piece.strip()
        if match := _WEIGHT.match(piece):
            weight, piece = float(match[1]) / 100, piece[match.end() :]
        words, _, feedback = piece.partition("#")
        answers.append(_GiftAnswer(words.strip(), weight, feedback.strip()))
    return answers


def _range(text: str) -> tuple[float, float]:
    """A number and its tolerance, from 3, 3:0.1 or 1..5. Raises ValueError."""
    try:
        low, dots, high = text.partition("..")
        if dots:
            least, most = importer.number(low), importer.number(high)
            return (least + most) / 2, abs(most - least) / 2
        value, _, off = text.partition(":")
        return importer.number(value), abs(importer.number(off)) if off.strip() else 0.0
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no number; it should be like 3, 3:0.1 or 1..5") from None


def _hidden(text: str) -> str:
    """The text with its escaped characters replaced by private ones."""
    text = text.translate(dict.fromkeys(range(_PRIVATE, _PRIVATE + 128), "\ufffd"))
    return _ESCAPED.sub(lambda match: chr(_PRIVATE + ord("\n" if match[1] == "n" else match[1])), text)


def _raw(text: str) -> str:
    """The original text with its backslashes, for categories, in which nothing is escaped."""
    private = {_PRIVATE + code: f"\\{chr(code)}" for code in range(128)} | {_PRIVATE + 10: "\\n"}
    return text.translate(private)


def _unhidden(text: str) -> str:
    return text.translate({_PRIVATE + code: code for code in range(128)})
