"""jupyterquiz: the JSON from which its widget in notebooks is made. It is only written.

Its kinds of questions are multiple_choice (one option), many_choice, numeric and string. Its script puts each text into
the page as HTML, after it has made formulas of what stands between dollars, and links of `[words](address)`. So texts
are written as HTML without either, with formulas as MathJax finds them. Code at the end of a text has a field of its
own, `code`, which the script shows as a block below.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from workshop.quiz.deck import Deck, Number, Text
from workshop.quiz.formats import markup
from workshop.quiz.formats.base import Exported
from workshop.quiz.formats.exporter import Capacity, Exportable, exportable

_CARRIES = Capacity("jupyterquiz", frozenset({"single", "multiple", "number", "text"}), frozenset({"feedback"}))
_DOLLAR = "&#36;"
_TAG_OR_DOLLAR = re.compile(r"<[^>]*>|\$")


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """A deck as jupyterquiz's JSON. Raises BadInput where there is no question that it can carry."""
    made = exportable(deck, _CARRIES, {})
    document = [_asked(question.text) | _answered(question, made) for question in made.questions]
    # jupyterquiz writes the file into a script, and opens it in the encoding of the machine.
    text = json.dumps(document, indent=2).replace("<", "\\u003c")
    return Exported(f"{text}\n".encode("ascii"), tuple(made.lost))


def _answered(question: Any, made: Exportable) -> dict[str, Any]:
    """The type and the answers of a question."""
    if isinstance(question, Number):
        return {"type": "numeric", "answers": _numbers(question)}
    if isinstance(question, Text):
        answers = [_words(form, True, "") for form in question.accept]
        answers += [_words(form, False, near.feedback) for near in question.near for form in near.accept]
        return {"type": "string", "answers": answers}
    if question.type == "multiple" and len(question.right) == 1:
        made.lose(question, "", "that several options can be chosen; jupyterquiz lets one be where one is right")
    answers = []
    for option in question.options:
        shown = _asked(option.text, "answer")
        answers.append(shown | {"correct": option.right} | _feedback(option.feedback))
    return {"type": "multiple_choice" if question.type == "single" else "many_choice", "answers": answers}


def _asked(markdown: str, name: str = "question") -> dict[str, str]:
    """A text, under its name, and the code that it ends with."""
    text, code = markup.split_code(markdown)
    return {name: _html(text)} | ({"code": escape(code)} if code else {})


def _feedback(markdown: str) -> dict[str, str]:
    return {"feedback": _html(markdown)} if markdown else {}


def _words(form: str, right: bool, feedback: str) -> dict[str, Any]:
    """A form, which is compared as it is with what somebody has typed."""
    return {"answer": " ".join(form.split()), "correct": right} | _feedback(feedback)


def _numbers(question: Number) -> list[dict[str, Any]]:
    """Numbers that are right or near; where they may be off, as ranges, which need a feedback.

    The upper end of a range doesn't belong to it. Ranges are a little wider, so that a number that is just on the edge
    is in it, as in `workshop.quiz.grading`.
    """
    answers = []
    every = [(question.answer, question.tolerance, True, "Correct.")]
    every += [(near.answer, near.tolerance or question.tolerance, False, near.feedback) for near in question.near]
    for value, tolerance, right, feedback in every:
        off = tolerance.around(value)
        edge = off + 1e-12 * (abs(value) + off)
        within = {"type": "range", "range": [value - edge, value + edge]}
        answers.append(
            (within if off else {"type": "value", "value": value}) | {"correct": right} | _feedback(feedback)
        )
    return answers


def _html(markdown: str) -> str:
    """Markdown as HTML in which the script finds no formulas and no links, and MathJax only those that are meant."""
    made = markup.inline(markdown, _formula).replace("<a href=", '<a target="_blank" class="JQLink" href=')
    made = _TAG_OR_DOLLAR.sub(_without_dollars, made)
    return made.replace("](", "&#93;(")


def _formula(tex: str, display: bool) -> str:
    return markup.moodle_math(tex, display).replace("$", _DOLLAR)


def _without_dollars(found: re.Match[str]) -> str:
    """A tag without dollars, or a dollar in an element of its own, where it begins no formula with another one."""
    return f"<span>{_DOLLAR}</span>" if found[0] == "$" else found[0].replace("$", _DOLLAR)
