"""A question as somebody gets it: what a browser is told before an answer is due and after it. Answers as browsers send
them, by letters of what is shown where, and as they are kept, by numbers in the deck, which mean the same to all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.quiz import grading, placement_questions, text_input
from workshop.quiz.deck import Base, Choice, Match, Multiple, Number, Order, Place, Poll, Predict, Single, Text
from workshop.quiz.parts import Picture, RunWanted
from workshop.quiz.randomisation import DrawnQuestion, measured, written
from workshop.quiz.rendering import html
from workshop.registry import workload
from workshop.report.command_line import params_of


def answer(asked: DrawnQuestion, raw: Any) -> Any:
    """What a browser sent, as it is kept: JSON. Raises BadInput with one sentence."""
    question = asked.question
    match question:
        case Single() | Poll():
            return _one(asked, raw)
        case Multiple():
            return sorted(_each_once(asked, raw, "chosen"))
        case Number():
            return text_input.number(raw, question.unit)
        case Predict(kind="rank"):
            most = most_ranks(question) - 1
            told = raw.strip().lower().removeprefix("rank") if isinstance(raw, str) else raw
            return text_input.whole(told, "A rank of these runs", 0, most)
        case Predict():
            return text_input.number(raw, question.unit)
        case Order():
            found = _each_once(asked, raw, "put in order")
            if len(found) != len(asked.order):
                raise BadInput(f"{len(found)} are in order; it should be all {len(asked.order)}.")
            return found
        case Match():
            return _matched(asked, question, raw)
        case Text():
            return text_input.text(raw)
        case Place():
            return placement_questions.read(question, raw)
    raise TypeError(f"there is no answer to a {type(question).__name__}")


def raw(asked: DrawnQuestion, answer: Any) -> Any:
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


def is_one(asked: DrawnQuestion, kept: Any) -> bool:
    """Whether this could have been kept for an answer to the question: what `answer` gives, with its types."""
    try:
        same = answer(asked, raw(asked, kept))
    except (BadInput, ValueError, TypeError, LookupError):
        return False
    return json.dumps(same, sort_keys=True) == json.dumps(kept, sort_keys=True)


def most_ranks(question: Predict) -> int:
    """How many ranks the largest of its runs has."""
    return max(Placement.parse(run.placement).ranks for run in question.runs.values())


def _one(asked: DrawnQuestion, raw: Any) -> int:
    if not isinstance(raw, str) or raw not in asked.keys:
        raise BadInput(f"{_told(raw)} is none of the answers; it should be one of {words.listed(asked.keys)}.")
    return asked.number(raw)


def _each_once(asked: DrawnQuestion, raw: Any, done: str) -> list[int]:
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes) or not raw:
        raise BadInput(f"{_told(raw)} is no list of what is {done}; it should be one such as ['b', 'a'].")
    if len(raw) > len(asked.order):
        raise BadInput(f"{len(raw)} are {done}; there are {len(asked.order)}.")
    found = [_one(asked, key) for key in raw]
    if len(set(found)) < len(found):
        raise BadInput(f"{_told(raw)} has something in it twice; each can be {done} once.")
    return found


def _matched(asked: DrawnQuestion, question: Match, raw: Any) -> list[int]:
    lefts = [str(number) for number in range(1, len(question.pairs) + 1)]
    if not isinstance(raw, Mapping) or set(raw) != set(lefts):
        raise BadInput(f"{_told(raw)} should say for each of {words.listed(lefts)} what belongs to it.")
    return [_one(asked, raw[left]) for left in lefts]


def _told(raw: Any) -> str:
    return repr(raw if len(raw) <= 40 else raw[:37] + "...") if isinstance(raw, str) else "That"


def shown(asked: DrawnQuestion, picture: Callable[[Picture], str]) -> dict[str, Any]:
    """The question as JSON for a browser before the answer is due: nothing in it tells what is right.

    `picture` gives the address, or the data, of a picture.
    """
    question, deck = asked.question, asked.deck
    told = {
        "id": question.id,
        "type": question.type,
        "html": html(question.text, asked.numbers),
        "picture": question.picture and {"src": picture(question.picture), "alt": question.picture.alt},
        "points": deck.points_of(question),
        "seconds": deck.seconds_of(question),
        "source": question.source,
    }
    return told | _parts(asked, question)


def _parts(asked: DrawnQuestion, question: Base) -> dict[str, Any]:
    match question:
        case Choice() | Poll():
            return {"options": _keyed(asked, [option.text for option in question.options])}
        case Order():
            return {"items": _keyed(asked, question.items)}
        case Match():
            lefts = [
                {"key": str(place), "html": html(pair.left, asked.numbers)}
                for place, pair in enumerate(question.pairs, 1)
            ]
            return {"lefts": lefts, "rights": _keyed(asked, question.rights)}
        case Number():
            return {"unit": question.unit, "whole": False}
        case Predict():
            runs = [_run(name, run) for name, run in question.runs.items()]
            return {"unit": question.unit, "whole": question.kind == "rank", "runs": runs}
        case Place():
            return {
                "fields": placement_questions.fields(question),
                "given": _given(question.given),
                "machine": placement_questions.machine(question).name,
            }
    return {}


def _keyed(asked: DrawnQuestion, texts: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"key": key, "html": html(texts[number], asked.numbers)}
        for key, number in zip(asked.keys, asked.order, strict=True)
    ]


def _run(name: str, run: RunWanted) -> str:
    """What will be run, in words: k-means (--points 5000) on 4 ranks x 1 thread."""
    known = workload(run.workload)
    options = " ".join(params_of(known, run.params))
    where = Placement.parse(run.placement)
    variables = "".join(f", {name}={value}" for name, value in where.environment.items())
    return f"{name}: {known.title}{f' ({options})' if options else ''}, {where.describe()}{variables}"


def _given(given: Mapping[str, Any]) -> str:
    """What a question of placement has decided already: ranks 6, map by package."""
    return ", ".join(f"{name.replace('_', ' ')} {_plainly(value)}" for name, value in given.items())


def _plainly(value: Any) -> str:
    if isinstance(value, bool):
        return ("no", "yes")[value]
    if isinstance(value, Mapping):
        if value.keys() == {"name", "slots"}:
            return "{name}:{slots}".format_map(value)  # a host, as on a command line
        return words.listed(f"{name}={one}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words.listed(map(_plainly, value))
    return str(value)


def solution(asked: DrawnQuestion, truth: float | None = None) -> dict[str, Any]:
    """What is right, as JSON for a browser after the answer is due; `truth` is what was measured, for a prediction."""
    question = asked.question
    told = {"html": "", "explanation": html(question.explanation, asked.numbers)}
    match question:
        case Poll():
            options = [{"key": key, "right": None, "feedback": ""} for key in asked.keys]
            return told | {"keys": [], "options": options}
        case Choice():
            return told | _of_options(asked, question)
        case Number():
            value = grading.value_of(asked, question.answer)
            return told | {"html": _quantity(written(value), question.unit), "value": value}
        case Predict():
            whose = "rank " if question.kind == "rank" else ""
            said = f"<p>{whose}{round(truth)}</p>" if whose and truth is not None else ""
            if truth is not None and not whose:
                said = _quantity(measured(truth), question.unit)
            return told | {"html": said, "value": truth}
        case Order():
            lines = "".join(f"<li>{html(item, asked.numbers)}</li>" for item in question.items)
            return told | {
                "html": f"<ol>{lines}</ol>",
                "order": [asked.key(number) for number in range(len(question.items))],
            }
        case Match():
            rows = "".join(
                f"<tr><td>{html(pair.left, asked.numbers)}</td><td>{html(pair.right, asked.numbers)}</td></tr>"
                for pair in question.pairs
            )
            matched = {str(place): asked.key(place - 1) for place in range(1, len(question.pairs) + 1)}
            return told | {"html": f"<table><tbody>{rows}</tbody></table>", "match": matched}
        case Text():
            return told | {"html": f"<p>{escape(question.accept[0], quote=False)}</p>"}
        case Place():
            command = placement_questions.command(question, question.right)
            said = f"<pre><code>{escape(command, quote=False)}</code></pre>"
            return told | {"html": said, "placement": dict(question.right), "command": command}
    raise TypeError(f"a {type(question).__name__} has no solution")


def _of_options(asked: DrawnQuestion, question: Choice) -> dict[str, Any]:
    options = [question.options[number] for number in asked.order]
    right = [key for key, option in zip(asked.keys, options, strict=True) if option.right]
    return {
        "html": "".join(html(option.text, asked.numbers) for option in options if option.right),
        "keys": right,
        "options": [
            {"key": key, "right": option.right, "feedback": html(option.feedback, asked.numbers)}
            for key, option in zip(asked.keys, options, strict=True)
        ],
    }


def _quantity(number: str, unit: str) -> str:
    return f"<p>{escape(f'{number} {unit}'.strip(), quote=False)}</p>"
