"""Reads Moodle XML."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from workshop.core.errors import BadInput
from workshop.quiz.formats import importer, xml
from workshop.quiz.formats.base import Imported, Lost
from workshop.quiz.formats.importer import DeckBuilder, QuestionReader
from workshop.quiz.formats.xml import text_at

# Moodle's feedback in a new question.
_DEFAULTS = {"", "Your answer is correct.", "Your answer is partially correct.", "Your answer is incorrect."}
_COMBINED = ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback")
_YES = {"true", "1"}


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


def _choice(reader: _MoodleQuestion) -> dict[str, Any]:
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


def _words(reader: _MoodleQuestion) -> dict[str, Any]:
    if text_at(reader.root, "usecase") in _YES:
        reader.lost.append("that case matters")
    return importer.forms(
        (
            (text_at(answer, "text"), _share(answer), reader.feedback(answer))
            for answer in reader.root.findall("answer")
        ),
        reader.lost,
    )


def _number(reader: _MoodleQuestion) -> dict[str, Any]:
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


def _match(reader: _MoodleQuestion) -> dict[str, Any]:
    subs = reader.root.findall("subquestion")
    rights = (importer.converted(text_at(sub, "answer/text"), "plain").text for sub in subs)
    return importer.matches(zip(map(reader.markdown, subs), rights, strict=True))


def _order(reader: _MoodleQuestion) -> dict[str, Any]:
    if text_at(reader.root, "selecttype", "ALL").upper() not in ("ALL", "0"):
        reader.lost.append("that only some of its items are shown")
    return {"type": "order", "items": [reader.markdown(answer) for answer in reader.root.findall("answer")]}


_KINDS: dict[str, Callable[[_MoodleQuestion], dict[str, Any]]] = {
    "multichoice": _choice,
    "truefalse": _true_or_false,
    "shortanswer": _words,
    "numerical": _number,
    "matching": _match,
    "ordering": _order,
}
_OTHERS = {
    "description": "a description, which asks for nothing",
    "essay": "an essay, which a person has to judge",
    "cloze": "a text with gaps (cloze)",
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
