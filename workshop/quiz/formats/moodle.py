"""Moodle XML.

Texts are written as HTML with formulas for MathJax; the file contains the pictures. The deck becomes a category. The
ids of its questions become id numbers.
"""

from __future__ import annotations

import base64
import binascii
import html
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import importer, markup, xml
from workshop.quiz.formats.base import Exported, Imported, Lost
from workshop.quiz.formats.exporter import Capacity, Exportable, category, decimal, exportable, margin, rights, share
from workshop.quiz.formats.importer import DeckBuilder, QuestionReader
from workshop.quiz.formats.xml import add, text_at
from workshop.quiz.types.match import Match
from workshop.quiz.types.number import Number
from workshop.quiz.types.order import Order
from workshop.quiz.types.text import Text

__all__ = ["read", "write"]

_TYPES = {
    "single": "multichoice",
    "multiple": "multichoice",
    "number": "numerical",
    "text": "shortanswer",
    "match": "matching",
    "order": "ordering",
}
_PARTS = {"deck", "title", "about", "id", "points", "explanation", "tags", "shuffle", "unit", "feedback"}
_CARRIES = Capacity("Moodle XML", frozenset(_TYPES), frozenset(_PARTS))
# Moodle's feedback in a new question.
_DEFAULTS = {"", "Your answer is correct.", "Your answer is partially correct.", "Your answer is incorrect."}
_COMBINED = ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback")
_YES = {"true", "1"}
_OTHERS = {
    "description": "a description, which asks for nothing",
    "essay": "an essay, which a person has to judge",
    "cloze": "a text with gaps (cloze)",
}


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """Write a deck as Moodle XML. Raises BadInput if the format can carry none of its questions."""
    export = exportable(deck, _CARRIES, pictures)
    root = Element("quiz")
    group = add(root, "question", type="category")
    add(add(group, "category"), "text", f"$course$/top/{category(markup.clean(deck.title))}")
    _text(group, "info", deck.about)
    add(group, "idnumber", deck.deck)
    for question in export.questions:
        if not isinstance(question, Match) or rights(question, export, "Moodle"):
            root.append(_question(deck, question, pictures, export))
    ElementTree.indent(root)
    return Exported(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n", tuple(export.lost))


def _question(deck: Deck, question: Any, pictures: Mapping[str, bytes], export: Exportable) -> Element:
    root = Element("question", {"type": _TYPES[question.type]})
    add(add(root, "name"), "text", question.id)
    _question_text(root, question, pictures)
    _text(root, "generalfeedback", question.explanation)
    add(root, "defaultgrade", f"{deck.points_of(question):g}")
    add(root, "penalty", "0")
    add(root, "hidden", "0")
    add(root, "idnumber", question.id)
    match question:
        case Number():
            _number(root, question)
        case Text():
            add(root, "usecase", "0")
            for form in question.accept:
                _answer(root, 100, _form(form))
            for near in question.near:
                for form in near.accept:
                    _answer(root, 0, _form(form), near.feedback)
        case Match():
            _match(root, question)
        case Order():
            settings = {"layouttype": "VERTICAL", "selecttype": "ALL", "selectcount": "0"}
            for name, value in (settings | {"gradingtype": "RELATIVE_TO_CORRECT", "showgrading": "SHOW"}).items():
                add(root, name, value)
            for place, item in enumerate(question.items, 1):
                _text(root, "answer", item, fraction=str(place))
        case _:
            _choice(root, deck, question, export)
    if question.tags:
        tags = add(root, "tags")
        for tag in question.tags:
            add(add(tags, "tag"), "text", markup.clean(tag))
    return root


def _question_text(root: Element, question: Any, pictures: Mapping[str, bytes]) -> None:
    """Add the question's text, with its picture."""
    element = _text(root, "questiontext", question.text)
    if question.picture is None or question.picture.file not in pictures:
        return
    name = PurePosixPath(question.picture.file).name
    alt = html.escape(markup.clean(question.picture.alt))
    element[0].text = f'{element[0].text}<p><img src="@@PLUGINFILE@@/{quote(name)}" alt="{alt}" /></p>'
    data = base64.b64encode(pictures[question.picture.file]).decode()
    add(element, "file", data, name=name, path="/", encoding="base64")


def _choice(root: Element, deck: Deck, question: Any, export: Exportable) -> None:
    single = question.type == "single"
    add(root, "single", "true" if single else "false")
    add(root, "shuffleanswers", "true" if deck.shuffles(question) else "false")
    add(root, "answernumbering", "abc")
    each = share(question, export)
    for option in question.options:
        _answer(root, each if option.right else 0 if single else -each, option.text, option.feedback, "html")


def _number(root: Element, question: Number) -> None:
    _answer(root, 100, decimal(question.answer), tolerance=margin(question.tolerance, question.answer))
    for near in question.near:
        off = margin(near.tolerance or question.tolerance, near.answer)
        _answer(root, 0, decimal(near.answer), near.feedback, tolerance=off)
    if question.unit:
        unit = add(add(root, "units"), "unit")
        add(unit, "multiplier", "1")
        add(unit, "unit_name", markup.clean(question.unit))
    add(root, "unitgradingtype", "0")
    add(root, "showunits", "0" if question.unit else "3")
    add(root, "unitsleft", "0")


def _match(root: Element, question: Match) -> None:
    add(root, "shuffleanswers", "true")
    lefts = [*(pair.left for pair in question.pairs), *("" for _ in question.extra)]
    for left_text, right in zip(lefts, question.rights, strict=True):
        subquestion = _text(root, "subquestion", left_text)
        add(add(subquestion, "answer"), "text", markup.plain(right))


def _answer(
    root: Element,
    share: float,
    words: str,
    feedback: str = "",
    format: str = "moodle_auto_format",
    tolerance: str = "",
) -> None:
    fraction = f"{share:.5f}".rstrip("0").rstrip(".")
    if format == "html":
        answer = _text(root, "answer", words, fraction=fraction)
    else:
        answer = add(root, "answer", fraction=fraction, format=format)
        add(answer, "text", words)
    _text(answer, "feedback", feedback)
    if tolerance:
        add(answer, "tolerance", tolerance)


def _text(parent: Element, tag: str, markdown: str, **attributes: str) -> Element:
    element = add(parent, tag, **{"format": "html", **attributes})
    add(element, "text", markup.html(markdown).strip() if markdown else "")
    return element


def _form(words: str) -> str:
    """An accepted form. Its stars are escaped, because a star is a wildcard."""
    return markup.clean(words).replace("*", "\\*")


class _MoodleQuestion(QuestionReader):
    """Reads one question."""

    def __init__(self, root: Element, id: str, builder: DeckBuilder) -> None:
        super().__init__(id, builder)
        self.root = root

    def question(self) -> dict[str, Any]:
        return self.common() | _KINDS[self.root.get("type", "")](self)

    def markdown(self, element: Element | None, pictured: bool = False) -> str:
        """The text of an element; its first picture may become the question's."""
        if element is None or not text_at(element, "text"):
            return ""
        converted = importer.converted(text_at(element, "text"), element.get("format", "moodle_auto_format"))
        return self.text(converted, partial(_picture, element) if pictured else None)

    def feedback(self, answer: Element) -> str:
        return self.markdown(answer.find("feedback"))

    def common(self) -> dict[str, Any]:
        root = self.root
        text_element = root.find("questiontext")
        question: dict[str, Any] = {"id": self.id, "text": self.markdown(text_element, True)}
        question["explanation"] = self.markdown(root.find("generalfeedback"))
        question["picture"] = self.picture
        points = text_at(root, "defaultgrade")
        question["points"] = importer.number(points) if points and importer.number(points) != 1 else None
        tags = dict.fromkeys(" ".join(text_at(tag, "text").split()) for tag in root.findall("tags/tag"))
        question["tags"] = [tag for tag in tags if tag]
        for name in _COMBINED:
            if self.markdown(root.find(name)) not in _DEFAULTS:
                self.lost.append(f"its {name.removesuffix('feedback')} feedback")
        if root.find("hint") is not None:
            self.lost.append("its hints")
        return question


def _read_choice(reader: _MoodleQuestion) -> dict[str, Any]:
    options = [
        {"text": reader.markdown(answer), "feedback": reader.feedback(answer), "share": _share(answer)}
        for answer in reader.root.findall("answer")
    ]
    question, lost = importer.choices(options, text_at(reader.root, "single", "true").lower() in _YES)
    reader.lost += lost
    if text_at(reader.root, "shuffleanswers", "true").lower() not in _YES:
        question["shuffle"] = False
    return question


def _true_or_false(reader: _MoodleQuestion) -> dict[str, Any]:
    options = [
        {"text": text_at(answer, "text").capitalize(), "right": _share(answer) > 0, "feedback": reader.feedback(answer)}
        for answer in reader.root.findall("answer")
    ]
    return {"type": "single", "options": options, "shuffle": False}


def _read_words(reader: _MoodleQuestion) -> dict[str, Any]:
    if text_at(reader.root, "usecase") in _YES:
        reader.lost.append("that case matters")
    return importer.forms(
        (
            (text_at(answer, "text"), _share(answer), reader.feedback(answer))
            for answer in reader.root.findall("answer")
        ),
        reader.lost,
    )


def _read_number(reader: _MoodleQuestion) -> dict[str, Any]:
    answers = []
    for answer in reader.root.findall("answer"):
        feedback, text = reader.feedback(answer), text_at(answer, "text")
        if text == "*":
            reader.lost += ["the feedback on any other number"] if feedback else []
            continue
        off = importer.number(text_at(answer, "tolerance") or "0")
        answers.append((importer.number(text), off, _share(answer), feedback))
    question = importer.numbers(answers, reader.lost)
    units = reader.root.findall("units/unit")
    names = {text_at(unit, "unit_name"): importer.number(text_at(unit, "multiplier") or "1") for unit in units}
    first = next((name for name, factor in names.items() if factor == 1), "")
    if others := [name for name in names if name != first]:
        reader.lost.append(f"other units ({', '.join(others)[:60]})")
    if text_at(reader.root, "unitgradingtype") not in ("", "0"):
        reader.lost.append("that a missing unit takes points")
    return question | {"unit": first}


def _read_match(reader: _MoodleQuestion) -> dict[str, Any]:
    subs = reader.root.findall("subquestion")
    rights = (importer.converted(text_at(sub, "answer/text"), "plain").text for sub in subs)
    return importer.matches(zip(map(reader.markdown, subs), rights, strict=True))


def _read_order(reader: _MoodleQuestion) -> dict[str, Any]:
    if text_at(reader.root, "selecttype", "ALL").upper() not in ("ALL", "0"):
        reader.lost.append("that only some of its items are shown")
    return {"type": "order", "items": [reader.markdown(answer) for answer in reader.root.findall("answer")]}


_KINDS: dict[str, Callable[[_MoodleQuestion], dict[str, Any]]] = {
    "multichoice": _read_choice,
    "truefalse": _true_or_false,
    "shortanswer": _read_words,
    "numerical": _read_number,
    "matching": _read_match,
    "ordering": _read_order,
}


def read(data: bytes, name: str) -> Imported:
    """Read a deck from Moodle XML. Raises BadInput with the file, and with the line if it is known."""
    root = xml.parse(data, name)
    if root.tag != "quiz":
        raise BadInput(f"{name} begins with <{root.tag[:40]}>; Moodle XML begins with <quiz>.")
    builder = DeckBuilder(name)
    groups = []
    for element in root.findall("question"):
        kind = element.get("type", "")
        if kind == "category":
            groups.append(element)
            continue
        title = text_at(element, "name/text")
        if kind not in _KINDS:
            builder.leave(title, f"not taken: {_OTHERS.get(kind, f'a question of type {kind[:40]!r}')}")
            continue
        builder.take(title, _MoodleQuestion(element, builder.new_id(text_at(element, "idnumber") or title), builder))
    if groups:
        builder.title = importer.category(text_at(groups[0], "category/text"))
        builder.id = text_at(groups[0], "idnumber") or builder.title
        about = groups[0].find("info")
        builder.about = (
            importer.converted(text_at(about, "text"), about.get("format", "")).text if about is not None else ""
        )
    if len({text_at(group, "category/text") for group in groups}) > 1:
        builder.lost.append(Lost("", f"its {len(groups)} categories; all questions are in one deck"))
    return builder.imported()


def _picture(element: Element, address: str) -> bytes | None:
    """The bytes of a picture that the file contains beside a text."""
    name = PurePosixPath(unquote(address).removeprefix("@@PLUGINFILE@@/")).name
    file = next((candidate for candidate in element.findall("file") if candidate.get("name") == name), None)
    if file is None or not address.startswith("@@PLUGINFILE@@/"):
        return None
    try:
        return base64.b64decode(file.text or "", validate=False)
    except (binascii.Error, ValueError):
        return None


def _share(answer: Element) -> float:
    return importer.number(answer.get("fraction", "0") or "0") / 100
