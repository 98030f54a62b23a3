"""jupyterquiz: the JSON from which its widget in notebooks is made. It is only written.

Its kinds of questions are multiple_choice (one option), many_choice, numeric and string, as in the project's own JSON
schemas. Formulas stay between dollars, where MathJax finds them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from workshop.quiz.deck import Deck, Number, Text
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.given import Carries, given

_CARRIES = Carries("jupyterquiz", frozenset({"single", "multiple", "number", "text"}), frozenset({"feedback"}))


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """A deck as jupyterquiz's JSON. Raises BadInput where there is no question that it can carry."""
    made = given(deck, _CARRIES, {})
    document = [_question(question) for question in made.questions]
    return Exported((json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(), tuple(made.lost))


def _question(question: Any) -> dict[str, Any]:
    if isinstance(question, Number):
        return {"question": question.text, "type": "numeric", "answers": _numbers(question)}
    if isinstance(question, Text):
        answers = [_answer(form, True, "") for form in question.accept]
        answers += [_answer(form, False, near.feedback) for near in question.near for form in near.accept]
        return {"question": question.text, "type": "string", "answers": answers}
    type = "multiple_choice" if question.type == "single" else "many_choice"
    answers = [_answer(option.text, option.right, option.feedback) for option in question.options]
    return {"question": question.text, "type": type, "answers": answers}


def _answer(words: str, right: bool, feedback: str) -> dict[str, Any]:
    return {"answer": words, "correct": right} | ({"feedback": feedback} if feedback else {})


def _numbers(question: Number) -> list[dict[str, Any]]:
    """Numbers that are right or near. Where they may be off, as ranges: their upper ends don't belong to them."""
    answers = []
    every = [(question.answer, question.tolerance, True, "")]
    every += [(near.answer, near.tolerance or question.tolerance, False, near.feedback) for near in question.near]
    for value, tolerance, right, feedback in every:
        off = tolerance.around(value)
        within = {"type": "range", "range": [value - off, math.nextafter(value + off, math.inf)]}
        answer = within if off else {"type": "value", "value": value}
        answers.append(answer | {"correct": right} | ({"feedback": feedback} if feedback else {}))
    return answers
