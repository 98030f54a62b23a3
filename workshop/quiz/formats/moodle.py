"""Writes Moodle XML. `moodle_reader` reads it.

Texts are HTML with formulas for MathJax; the file contains the pictures. The deck becomes a category. The ids of its
questions become id numbers.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workshop.quiz.deck import Deck
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.exporter import Capacity, Exportable, category, decimal, exportable, margin, rights, share
from workshop.quiz.formats.moodle_reader import read
from workshop.quiz.formats.xml import add
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
