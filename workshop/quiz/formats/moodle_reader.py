"""Moodle XML, read."""

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
from workshop.quiz.formats.xml import said

# What Moodle itself puts into a new question.
_DEFAULTS = {"", "Your answer is correct.", "Your answer is partially correct.", "Your answer is incorrect."}
_COMBINED = ("correctfeedback", "partiallycorrectfeedback", "incorrectfeedback")
_YES = {"true", "1"}


class _MoodleQuestion(QuestionReader):
    """One question as it is read."""

    def __init__(self, root: Element, id: str, found: DeckBuilder) -> None:
        super().__init__(id, found)
        self.root = root

    def question(self) -> dict[str, Any]:
        return self.common() | _KINDS[self.root.get("type", "")](self)

    def markdown(self, element: Element | None, pictured: bool = False) -> str:
        """The text of an element; its first picture may become the question's."""
        if element is None or not said(element, "text"):
            return ""
        made = importer.converted(said(element, "text"), element.get("format", "moodle_auto_format"))
        return self.text(made, partial(_picture, element) if pictured else None)

    def feedback(self, answer: Element) -> str:
        return self.markdown(answer.find("feedback"))

    def common(self) -> dict[str, Any]:
        root = self.root
        asked = root.find("questiontext")
        made: dict[str, Any] = {"id": self.id, "text": self.markdown(asked, True)}
        made["explanation"] = self.markdown(root.find("generalfeedback"))
        made["picture"] = self.picture
        points = said(root, "defaultgrade")
        made["points"] = importer.number(points) if points and importer.number(points) != 1 else None
        tags = dict.fromkeys(" ".join(said(tag, "text").split()) for tag in root.findall("tags/tag"))
        made["tags"] = [tag for tag in tags if tag]
        for name in _COMBINED:
            if self.markdown(root.find(name)) not in _DEFAULTS:
                self.lost.append(f"its {name.removesuffix('feedback')} feedback")
        if root.find("hint") is not None:
            self.lost.append("its hints")
        return made


def _choice(one: _MoodleQuestion) -> dict[str, Any]:
    options = [
        {"text": one.markdown(answer), "feedback": one.feedback(answer), "share": _share(answer)}
        for answer in one.root.findall("answer")
    ]
    made, lost = importer.choices(options, said(one.root, "single", "true").lower() in _YES)
    one.lost += lost
    if said(one.root, "shuffleanswers", "true").lower() not in _YES:
        made["shuffle"] = False
    return made


def _true_or_false(one: _MoodleQuestion) -> dict[str, Any]:
    options = [
        {"text": said(answer, "text").capitalize(), "right": _share(answer) > 0, "feedback": one.feedback(answer)}
        for answer in one.root.findall("answer")
    ]
    return {"type": "single", "options": options, "shuffle": False}


def _words(one: _MoodleQuestion) -> dict[str, Any]:
    if said(one.root, "usecase") in _YES:
        one.lost.append("that case matters")
    return importer.forms(
        ((said(answer, "text"), _share(answer), one.feedback(answer)) for answer in one.root.findall("answer")),
        one.lost,
    )


def _number(one: _MoodleQuestion) -> dict[str, Any]:
    answers = []
    for answer in one.root.findall("answer"):
        feedback, text = one.feedback(answer), said(answer, "text")
        if text == "*":
            one.lost += ["the feedback on any other number"] if feedback else []
            continue
        off = importer.number(said(answer, "tolerance") or "0")
        answers.append((importer.number(text), off, _share(answer), feedback))
    made = importer.numbers(answers, one.lost)
    units = one.root.findall("units/unit")
    names = {said(unit, "unit_name"): importer.number(said(unit, "multiplier") or "1") for unit in units}
    first = next((name for name, factor in names.items() if factor == 1), "")
    if others := [name for name in names if name != first]:
        one.lost.append(f"other units ({', '.join(others)[:60]})")
    if said(one.root, "unitgradingtype") not in ("", "0"):
        one.lost.append("that a missing unit takes points")
    return made | {"unit": first}


def _match(one: _MoodleQuestion) -> dict[str, Any]:
    subs = one.root.findall("subquestion")
    rights = (importer.converted(said(sub, "answer/text"), "plain").text for sub in subs)
    return importer.matches(zip(map(one.markdown, subs), rights, strict=True))


def _order(one: _MoodleQuestion) -> dict[str, Any]:
    if said(one.root, "selecttype", "ALL").upper() not in ("ALL", "0"):
        one.lost.append("that only some of its items are shown")
    return {"type": "order", "items": [one.markdown(answer) for answer in one.root.findall("answer")]}


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
    """A deck from Moodle XML. Raises BadInput with the file, and the line where there is one."""
    root = xml.parse(data, name)
    if root.tag != "quiz":
        raise BadInput(f"{name} begins with <{root.tag[:40]}>; Moodle XML begins with <quiz>.")
    found = DeckBuilder(name)
    groups = []
    for element in root.findall("question"):
        kind = element.get("type", "")
        if kind == "category":
            groups.append(element)
            continue
        title = said(element, "name/text")
        if kind not in _KINDS:
            found.leave(title, f"not taken: {_OTHERS.get(kind, f'a question of type {kind[:40]!r}')}")
            continue
        found.take(title, _MoodleQuestion(element, found.new_id(said(element, "idnumber") or title), found))
    if groups:
        found.title = importer.category(said(groups[0], "category/text"))
        found.id = said(groups[0], "idnumber") or found.title
        about = groups[0].find("info")
        found.about = importer.converted(said(about, "text"), about.get("format", "")).text if about is not None else ""
    if len({said(one, "category/text") for one in groups}) > 1:
        found.lost.append(Lost("", f"its {len(groups)} categories; all questions are in one deck"))
    return found.imported()


def _picture(element: Element, address: str) -> bytes | None:
    """The bytes of a picture that stands in the file beside a text."""
    name = PurePosixPath(unquote(address).removeprefix("@@PLUGINFILE@@/")).name
    file = next((one for one in element.findall("file") if one.get("name") == name), None)
    if file is None or not address.startswith("@@PLUGINFILE@@/"):
        return None
    try:
        return base64.b64decode(file.text or "", validate=False)
    except (binascii.Error, ValueError):
        return None


def _share(answer: Element) -> float:
    return importer.number(answer.get("fraction", "0") or "0") / 100
