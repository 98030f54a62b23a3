"""How the answers of a class are spread over a question, as a chart shows it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from workshop.quiz import question_view as asking
from workshop.quiz import text_input
from workshop.quiz.randomisation import DrawnQuestion

MOST_VALUES = 500
MOST_WORDS = 12


def distribution(
    asked: DrawnQuestion, answers: Iterable[Any], is_right: Callable[[Any], bool | None] | None = None
) -> dict[str, Any]:
    """What was answered, and how often. `is_right` judges an answer; None: it is not due to tell what is right.

    Choices: {"type": "choices", "options": [{"key", "count", "right"}]}. Numbers: {"type": "numbers", "values"},
    sorted, at most 500 of them. Others: {"type": "words", "answers": [{"text", "count", "right"}]}, the 12 most
    frequent.
    """
    question = asked.question
    if question.choices:
        counts = Counter(number for answer in answers for number in (answer if isinstance(answer, list) else [answer]))
        return {
            "type": "choices",
            "options": [
                {"key": asked.key(number), "count": counts[number], "right": is_right and _option(asked, number)}
                for number in asked.order
            ],
        }
    if question.type in ("number", "predict"):
        return {"type": "numbers", "values": thinned(sorted(float(answer) for answer in answers))}
    found: dict[str, list[Any]] = {}
    for answer in answers:
        found.setdefault(words(asked, answer), []).append(answer)
    most = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_WORDS]
    return {
        "type": "words",
        "answers": [
            {"text": text, "count": len(given), "right": None if is_right is None else is_right(given[0])}
            for text, given in most
        ],
    }


def thinned(values: list[float], most: int = MOST_VALUES) -> list[float]:
    """At most so many of sorted numbers, evenly over their ranks, with the first and the last one."""
    values = [value for value in values if math.isfinite(value)]
    if len(values) <= most:
        return values
    return [values[round(number * (len(values) - 1) / (most - 1))] for number in range(most)]


def words(asked: DrawnQuestion, answer: Any) -> str:
    """An answer that is no choice and no number, in a line: two that mean the same read the same."""
    shown = asking.raw(asked, answer)
    match asked.question.type:
        case "order":
            return " ".join(shown)
        case "match":
            return " ".join(f"{left}{right}" for left, right in shown.items())
        case "place":
            return ", ".join(f"{name} {_plain(value)}" for name, value in sorted(shown.items()))
        case _:
            return text_input.alike(shown)


def _option(asked: DrawnQuestion, number: int) -> bool | None:
    """Whether an option is right; of a poll, none is right or wrong."""
    return getattr(asked.question.options[number], "right", None)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
