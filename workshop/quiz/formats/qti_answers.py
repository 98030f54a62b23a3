"""What is right in a QTI item, and how a program that runs it finds out: response declarations and processing."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from workshop.quiz.deck import Match, Number, Order, Poll, Text
from workshop.quiz.formats import markup
from workshop.quiz.formats.xml import add


def declare(root: Element, question: Any) -> None:
    """What is answered, what is right, and what each part of an answer is worth."""
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
    made = add(root, "responseDeclaration", identifier="RESPONSE", cardinality=cardinality, baseType=kind)
    if not isinstance(question, Poll):
        right = add(made, "correctResponse")
        for value in _right(question):
            add(right, "value", value)
    match question:
        case Text():
            mapping = add(made, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
            for form in question.accept:
                add(mapping, "mapEntry", mapKey=markup.clean(form), mappedValue="1", caseSensitive="false")
        case Match():
            mapping = add(made, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
            for pair in _right(question):
                add(mapping, "mapEntry", mapKey=pair, mappedValue=repr(1 / len(question.pairs)))
        case _ if question.type == "multiple":
            mapping = add(made, "mapping", lowerBound="0", upperBound="1", defaultValue="0")
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
    """How the score and the feedback come from an answer."""
    if isinstance(question, Poll):
        return
    made = add(root, "responseProcessing")
    if question.type in ("multiple", "match", "text"):
        add(add(made, "setOutcomeValue", identifier="SCORE"), "mapResponse", identifier="RESPONSE")
    else:
        if_right = add(add(made, "responseCondition"), "responseIf")
        if isinstance(question, Number):
            compared = _equal(if_right, question.tolerance.around(question.answer))
        else:
            compared = add(if_right, "match")
        add(compared, "variable", identifier="RESPONSE")
        add(compared, "correct", identifier="RESPONSE")
        _set(if_right, "SCORE", "float", "1")
    if hasattr(question, "options"):
        add(add(made, "setOutcomeValue", identifier="FEEDBACK"), "variable", identifier="RESPONSE")
    for number, near in enumerate(getattr(question, "near", ()), 1):
        answers = near.accept if isinstance(question, Text) else [near.answer]
        for answer in answers:
            if_near = add(add(made, "responseCondition"), "responseIf")
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
