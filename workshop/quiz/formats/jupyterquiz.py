"""jupyterquiz: the JSON for its quiz widget in notebooks. This format is only written.

Its question types are multiple_choice (one option), many_choice, numeric and string. Its script turns text between
dollars into formulas and `[words](address)` into links, and then puts each text into the page as HTML. So texts are
written as HTML without both, and formulas in the notation of MathJax. Code at the end of a text has a separate field,
`code`, which the script shows as a block below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from workshop.quiz.deck import Deck
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.exporter import Capacity, Exportable, exportable
from workshop.quiz.types.number import Number
from workshop.quiz.types.text import Text

_CARRIES = Capacity("jupyterquiz", frozenset({"single", "multiple", "number", "text"}), frozenset({"feedback"}))
_DOLLAR = "&#36;"
_TAG_OR_DOLLAR = re.compile(r"<[^>]*>|\$")


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """Write a deck as jupyterquiz's JSON. Raises BadInput if the format can carry none of its questions."""
    export = exportable(deck, _CARRIES, {})
    document = [_text_and_code(question.text) | _answered(question, export) for question in export.questions]
    # jupyterquiz writes the file's content into a script, and opens the file in the encoding of the machine.
    text = json.dumps(document, indent=2).replace("<", "\\u003c")
    return Exported(f"{text}\n".encode("ascii"), tuple(export.lost))


def _answered(question: Any, export: Exportable) -> dict[str, Any]:
    """The type and the answers of a question."""
    if isinstance(question, Number):
        return {"type": "numeric", "answers": _numbers(question)}
    if isinstance(question, Text):
        answers = [_words(form, True, "") for form in question.accept]
        answers += [_words(form, False, near.feedback) for near in question.near for form in near.accept]
        return {"type": "string", "answers": answers}
    if question.type == "multiple" and len(question.right) == 1:
        export.lose(question, "", "that several options can be chosen; jupyterquiz allows only one if one is right")
    answers = []
    for option in question.options:
        entry = _text_and_code(option.text, "answer")
        answers.append(entry | {"correct": option.right} | _feedback(option.feedback))
    return {"type": "multiple_choice" if question.type == "single" else "many_choice", "answers": answers}


def _text_and_code(markdown: str, name: str = "question") -> dict[str, str]:
    """The field of a text, and the field of the code at its end."""
    text, code = markup.split_code(markdown)
    return {name: _html(text)} | ({"code": escape(code)} if code else {})


def _feedback(markdown: str) -> dict[str, str]:
    return {"feedback": _html(markdown)} if markdown else {}


def _words(form: str, right: bool, feedback: str) -> dict[str, Any]:
    """An accepted or wrong form; jupyterquiz compares it literally with the typed text."""
    return {"answer": " ".join(form.split()), "correct": right} | _feedback(feedback)


def _numbers(question: Number) -> list[dict[str, Any]]:
    """The right number and the deck's misconceptions; numbers with a tolerance are ranges, which need a feedback.

    jupyterquiz excludes the upper end of a range. Ranges are a little wider, so that they include numbers on the edge,
    as `workshop.quiz.types.number.within` does.
    """
    answers = []
    every = [(question.answer, question.tolerance, True, "Correct.")]
    every += [(near.answer, near.tolerance or question.tolerance, False, near.feedback) for near in question.near]
    for answer, tolerance, right, feedback in every:
        value = float(answer)
        off = tolerance.around(value)
        edge = off + 1e-12 * (abs(value) + off)
        within = {"type": "range", "range": [value - edge, value + edge]}
        answers.append(
            (within if off else {"type": "value", "value": value}) | {"correct": right} | _feedback(feedback)
        )
    return answers


def _html(markdown: str) -> str:
    """Markdown as HTML in which the script finds no formulas and no links, and MathJax finds only the text's own."""
    html = markup.inline(markdown, _formula).replace("<a href=", '<a target="_blank" class="JQLink" href=')
    html = _TAG_OR_DOLLAR.sub(_without_dollars, html)
    return html.replace("](", "&#93;(")


def _formula(tex: str, display: bool) -> str:
    return markup.moodle_math(tex, display).replace("$", _DOLLAR)


def _without_dollars(match: re.Match[str]) -> str:
    """Replace the dollars of a tag, or put a dollar into an element, so that two dollars don't become a formula."""
    return f"<span>{_DOLLAR}</span>" if match[0] == "$" else match[0].replace("$", _DOLLAR)
