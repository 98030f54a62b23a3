"""Answers as browsers send them, by letters of what is shown where, and as they are kept, by numbers in the deck, which
mean the same to everybody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.quiz import placement_questions, typed
from workshop.quiz.deck import Match, Multiple, Number, Order, Place, Poll, Predict, Single, Text
from workshop.quiz.randomisation import Asked


def answer(asked: Asked, raw: Any) -> Any:
    """What a browser sent, as it is kept: JSON. Raises BadInput with one sentence."""
    question = asked.question
    match question:
        case Single() | Poll():
            return _one(asked, raw)
        case Multiple():
            return sorted(_each_once(asked, raw, "chosen"))
        case Number():
            return typed.number(raw, question.unit)
        case Predict(kind="rank"):
            most = most_ranks(question) - 1
            told = raw.strip().lower().removeprefix("rank") if isinstance(raw, str) else raw
            return typed.whole(told, "A rank of these runs", 0, most)
        case Predict():
            return typed.number(raw, question.unit)
        case Order():
            found = _each_once(asked, raw, "put in order")
            if len(found) != len(asked.order):
                raise BadInput(f"{len(found)} are in order; it should be all {len(asked.order)}.")
            return found
        case Match():
            return _matched(asked, question, raw)
        case Text():
            return typed.text(raw)
        case Place():
            return placement_questions.read(question, raw)
    raise TypeError(f"there is no answer to a {type(question).__name__}")


def raw(asked: Asked, answer: Any) -> Any:
    """What a browser would have sent for an answer that was kept."""
    match asked.question:
        case Single() | Poll():
            return asked.key(answer)
        case Multiple():
            return sorted(asked.key(number) for number in answer)
        case Order():
            return [asked.key(number) for number in answer]
        case Match():
            return {str(left): asked.key(right) for left, right in enumerate(answer, 1)}
    return answer


def is_one(asked: Asked, kept: Any) -> bool:
    """Whether this could have been kept for an answer to the question: what `answer` gives, with its types."""
    try:
        same = answer(asked, raw(asked, kept))
    except (BadInput, ValueError, TypeError, LookupError):
        return False
    return json.dumps(same, sort_keys=True) == json.dumps(kept, sort_keys=True)


def most_ranks(question: Predict) -> int:
    """How many ranks the largest of its runs has."""
    return max(Placement.parse(run.placement).ranks for run in question.runs.values())


def _one(asked: Asked, raw: Any) -> int:
    if not isinstance(raw, str) or raw not in asked.keys:
        raise BadInput(f"{_told(raw)} is none of the answers; it should be one of {words.listed(asked.keys)}.")
    return asked.number(raw)


def _each_once(asked: Asked, raw: Any, done: str) -> list[int]:
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes) or not raw:
        raise BadInput(f"{_told(raw)} is no list of what is {done}; it should be one such as ['b', 'a'].")
    if len(raw) > len(asked.order):
        raise BadInput(f"{len(raw)} are {done}; there are {len(asked.order)}.")
    found = [_one(asked, key) for key in raw]
    if len(set(found)) < len(found):
        raise BadInput(f"{_told(raw)} has something in it twice; each can be {done} once.")
    return found


def _matched(asked: Asked, question: Match, raw: Any) -> list[int]:
    lefts = [str(number) for number in range(1, len(question.pairs) + 1)]
    if not isinstance(raw, Mapping) or set(raw) != set(lefts):
        raise BadInput(f"{_told(raw)} should say for each of {words.listed(lefts)} what belongs to it.")
    return [_one(asked, raw[left]) for left in lefts]


def _told(raw: Any) -> str:
    return repr(raw if len(raw) <= 40 else raw[:37] + "...") if isinstance(raw, str) else "That"
