"""Writes QTI 2.1: a content package (.zip) with a manifest, a test and an item for each question.

Identifiers have a prefix, because QTI's begin with a letter. Explanations are modal feedback that is shown after every
answer. `qti_reader` reads it. Source: IMS Question and Test Interoperability 2.1, information model.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workshop.quiz.deck import Deck
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.exporter import USUAL_SECONDS, Capacity, exportable
from workshop.quiz.formats.qti_reader import PREFIX, read
from workshop.quiz.formats.xml import add
from workshop.quiz.types.choice import Poll
from workshop.quiz.types.match import Match
from workshop.quiz.types.number import Number
from workshop.quiz.types.order import Order
from workshop.quiz.types.text import Text

__all__ = ["read", "write"]

_QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
_PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
_METADATA = "http://ltsc.ieee.org/xsd/LOM"
_TYPES = frozenset({"single", "multiple", "poll", "number", "order", "match", "text"})
_PARTS = {"deck", "title", "about", "id", "points", "seconds", "explanation", "tags", "shuffle", "unit", "feedback"}
_CARRIES = Capacity("QTI 2.1", _TYPES, frozenset(_PARTS))
_WHEN = (2000, 1, 1, 0, 0, 0)  # time of all files in the package, so that the same deck gives the same bytes


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """Write a deck as a QTI package. Raises BadInput if QTI can carry none of its questions."""
    export = exportable(deck, _CARRIES, pictures)
    names: dict[str, str] = {}  # of pictures, in the package
    files: dict[str, bytes] = {}
    for question in export.questions:
        if question.picture is not None and question.picture.file in pictures:
            name = f"pictures/{PurePosixPath(question.picture.file).name}"
            if files.get(name, pictures[question.picture.file]) != pictures[question.picture.file]:
                name = f"pictures/{question.id}-{PurePosixPath(question.picture.file).name}"
            names[question.id] = name
            files[name] = pictures[question.picture.file]
        files[f"items/{question.id}.xml"] = _bytes(_item(deck, question, names.get(question.id, "")))
    files["test.xml"] = _bytes(_test(deck, export.questions))
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ({"imsmanifest.xml": _bytes(_manifest(deck, export.questions, names))} | files).items():
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return Exported(package.getvalue(), tuple(export.lost))


def _manifest(deck: Deck, questions: list[Any], names: Mapping[str, str]) -> Element:
    root = Element("manifest", {"xmlns": _PACKAGE, "identifier": f"M_{deck.deck}"})
    about = add(root, "metadata")
    add(about, "schema", "QTIv2.1 Package")
    add(about, "schemaversion", "1.0.0")
    add(root, "organizations")
    resources = add(root, "resources")
    test = add(resources, "resource", identifier="TEST", type="imsqti_test_xmlv2p1", href="test.xml")
    add(test, "file", href="test.xml")
    for question in questions:
        href = f"items/{question.id}.xml"
        add(test, "dependency", identifierref=f"R_{question.id}")
        kind = {"identifier": f"R_{question.id}", "type": "imsqti_item_xmlv2p1", "href": href}
        resource = add(resources, "resource", **kind)
        if question.tags:
            general = add(add(add(resource, "metadata"), "lom", xmlns=_METADATA), "general")
            for tag in question.tags:
                add(add(general, "keyword"), "string", markup.clean(tag))
        for file in filter(None, [href, names.get(question.id)]):
            add(resource, "file", href=file)
    return root


def _test(deck: Deck, questions: list[Any]) -> Element:
    root = Element("assessmentTest", {"xmlns": _QTI, "identifier": f"T_{deck.deck}", "title": markup.clean(deck.title)})
    part = add(root, "testPart", identifier="PART", navigationMode="linear", submissionMode="individual")
    section = add(part, "assessmentSection", identifier="SECTION", title=markup.clean(deck.title), visible="true")
    if deck.about:
        put(add(section, "rubricBlock", view="candidate"), deck.about)
    for question in questions:
        reference = add(section, "assessmentItemRef", identifier=PREFIX + question.id, href=f"items/{question.id}.xml")
        if question.seconds or deck.seconds != USUAL_SECONDS:
            add(reference, "timeLimits", maxTime=str(deck.seconds_of(question)))
        if not isinstance(question, Poll):
            add(reference, "weight", identifier="POINTS", value=f"{deck.points_of(question):g}")
    return root


def _item(deck: Deck, question: Any, picture: str) -> Element:
    root = Element("assessmentItem", {"xmlns": _QTI, "identifier": PREFIX + question.id, "title": question.id})
    root.attrib |= {"adaptive": "false", "timeDependent": "false"}
    declare(root, question)
    score = add(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    add(add(score, "defaultValue"), "value", "0")
    cardinality = "multiple" if question.type == "multiple" else "single"
    add(root, "outcomeDeclaration", identifier="FEEDBACK", cardinality=cardinality, baseType="identifier")
    body = add(root, "itemBody")
    put(add(body, "div"), question.text)
    if picture:
        alt = markup.clean(question.picture.alt)
        add(add(body, "p"), "img", src=f"../{picture}", alt=alt)
    _interaction(body, deck, question)
    process(root, question)
    if question.explanation:
        never = {"outcomeIdentifier": "FEEDBACK", "identifier": "EXPLANATION", "showHide": "hide"}
        put(add(root, "modalFeedback", **never), question.explanation)
    for number, near in enumerate(getattr(question, "near", ()), 1):
        attributes = {"outcomeIdentifier": "FEEDBACK", "identifier": f"NEAR_{number}", "showHide": "show"}
        put(add(root, "modalFeedback", **attributes), near.feedback)
    return root


def _interaction(body: Element, deck: Deck, question: Any) -> None:
    answered = {"responseIdentifier": "RESPONSE"}
    match question:
        case Number() | Text():
            line = add(body, "p")
            entry = add(line, "textEntryInteraction", **answered)
            if unit := getattr(question, "unit", ""):
                entry.tail = " "
                add(line, "span", markup.clean(unit), **{"class": "unit"})
        case Order():
            interaction = add(body, "orderInteraction", shuffle="true", **answered)
            for number, item in enumerate(question.items, 1):
                put(add(interaction, "simpleChoice", identifier=f"I_{number}"), item)
        case Match():
            most = str(len(question.pairs))
            interaction = add(body, "matchInteraction", shuffle="true", maxAssociations=most, **answered)
            for letter, texts in (("L", [pair.left for pair in question.pairs]), ("R", question.rights)):
                within = add(interaction, "simpleMatchSet")
                for number, text in enumerate(texts, 1):
                    choice = {"identifier": f"{letter}_{number}", "matchMax": "1"}
                    put(add(within, "simpleAssociableChoice", **choice), text)
        case _:
            shuffle = "true" if deck.shuffles(question) else "false"
            most = "0" if question.type == "multiple" else "1"
            interaction = add(body, "choiceInteraction", shuffle=shuffle, maxChoices=most, **answered)
            for number, option in enumerate(question.options, 1):
                simple_choice = add(interaction, "simpleChoice", identifier=f"O_{number}")
                put(simple_choice, option.text)
                if feedback := getattr(option, "feedback", ""):
                    attributes = {"outcomeIdentifier": "FEEDBACK", "identifier": f"O_{number}", "showHide": "show"}
                    put(add(simple_choice, "feedbackBlock", **attributes), feedback)


def put(parent: Element, markdown: str) -> None:
    """Put a text into an element, as XHTML with MathML."""
    wrapper = ElementTree.fromstring(f"<div>{markup.html(markdown, markup.mathml)}</div>")
    for element in wrapper.iter():
        if "}" in element.tag:
            space, _, element.tag = element.tag[1:].partition("}")
            if element.tag == "math":
                element.set("xmlns", space)
    parent.text = wrapper.text
    parent.extend(wrapper)


def _bytes(root: Element) -> bytes:
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def declare(root: Element, question: Any) -> None:
    """Declare the type of the answer, the right answer, and the points of each part of an answer."""
    kinds = {
        "single": ("single", "identifier"),
        "poll": ("single", "identifier"),
        "multiple": ("multiple", "identifier"),
        "order": ("ordered", "identifier"),
        "match": ("multiple", "directedPair"),
        "number": ("single", "float"),
        "text": ("single", "string"),
    }
    cardinality, kind = kinds[question.type]
    declaration = add(root, "responseDeclaration", identifier="RESPONSE", cardinality=cardinality, baseType=kind)
    if not isinstance(question, Poll):
        right = add(declaration, "correctResponse")
        for value in _right(question):
            add(right, "value", value)
    match question:
        case Text():
            mapping = add(declaration, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
            for form in question.accept:
                add(mapping, "mapEntry", mapKey=markup.clean(form), mappedValue="1", caseSensitive="false")
        case Match():
            mapping = add(declaration, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
            for pair in _right(question):
                add(mapping, "mapEntry", mapKey=pair, mappedValue=repr(1 / len(question.pairs)))
        case _ if question.type == "multiple":
            mapping = add(declaration, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
            for number, option in enumerate(question.options, 1):
                share = 1 / len(question.right) if option.right else -1 / len(question.right)
                add(mapping, "mapEntry", mapKey=f"O_{number}", mappedValue=repr(share))


def _right(question: Any) -> list[str]:
    match question:
        case Number():
            return [repr(question.answer)]
        case Text():
            return [markup.clean(question.accept[0])]
        case Order():
            return [f"I_{number}" for number in range(1, len(question.items) + 1)]
        case Match():
            return [f"L_{number} R_{number}" for number in range(1, len(question.pairs) + 1)]
    return [f"O_{number + 1}" for number in question.right]


def process(root: Element, question: Any) -> None:
    """Add the rules that compute the score and the feedback from an answer."""
    if isinstance(question, Poll):
        return
    processing = add(root, "responseProcessing")
    if question.type in ("multiple", "match", "text"):
        add(add(processing, "setOutcomeValue", identifier="SCORE"), "mapResponse", identifier="RESPONSE")
    else:
        if_right = add(add(processing, "responseCondition"), "responseIf")
        if isinstance(question, Number):
            compared = _equal(if_right, question.tolerance.around(float(question.answer)))
        else:
            compared = add(if_right, "match")
        add(compared, "variable", identifier="RESPONSE")
        add(compared, "correct", identifier="RESPONSE")
        _set(if_right, "SCORE", "float", "1")
    if hasattr(question, "options"):
        add(add(processing, "setOutcomeValue", identifier="FEEDBACK"), "variable", identifier="RESPONSE")
    for number, near in enumerate(getattr(question, "near", ()), 1):
        answers = near.accept if isinstance(question, Text) else [near.answer]
        for answer in answers:
            if_near = add(add(processing, "responseCondition"), "responseIf")
            if isinstance(question, Text):
                compared, kind, value = (
                    add(if_near, "stringMatch", caseSensitive="false"),
                    "string",
                    markup.clean(answer),
                )
            else:
                compared = _equal(if_near, (near.tolerance or question.tolerance).around(answer))
                kind, value = "float", repr(answer)
            add(compared, "variable", identifier="RESPONSE")
            add(compared, "baseValue", value, baseType=kind)
            _set(if_near, "FEEDBACK", "identifier", f"NEAR_{number}")


def _equal(parent: Element, off: float) -> Element:
    if not off:
        return add(parent, "equal", toleranceMode="exact")
    return add(parent, "equal", toleranceMode="absolute", tolerance=f"{off!r} {off!r}")


def _set(parent: Element, outcome: str, kind: str, value: str) -> None:
    add(add(parent, "setOutcomeValue", identifier=outcome), "baseValue", value, baseType=kind)
