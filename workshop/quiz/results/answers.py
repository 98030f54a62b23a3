"""The answers of a class to one question: counted for a chart, as rows of a report, and each in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workshop.core import words
from workshop.quiz import expressions, rendering, text_input
from workshop.quiz.parts import LETTERS, NearNumber, NearPlacement, NearText
from workshop.quiz.results.record import Results, RoundAnswer
from workshop.quiz.types import DrawnQuestion, Question
from workshop.quiz.types.choice import WithOptions, chosen
from workshop.quiz.types.match import Match, Order
from workshop.quiz.types.number import Number, Predict, Quantity, Text
from workshop.quiz.types.place import Place, placed

MOST_ANSWERS = 12  # different answers in a chart of answers in words
MOST_VALUES = 500  # values in a chart
MOST_LISTED = 8  # listed answers of one question, besides the answers of the deck


def distribution(
    variant: DrawnQuestion, answers: Iterable[Any], is_right: Callable[[Any], bool | None] | None = None
) -> dict[str, Any]:
    """The counts of the answers, for a chart. `is_right` grades an answer; None: the right answer stays hidden.

    Choices: {"type": "choices", "options": [{"key", "count", "right"}]}. Numbers: {"type": "numbers", "values"},
    sorted, at most 500 of them. Others: {"type": "words", "answers": [{"text", "count", "right"}]}, the 12 most
    frequent.
    """
    question = variant.question
    if isinstance(question, WithOptions):
        counts = Counter(number for answer in answers for number in chosen(answer))
        rights = [getattr(option, "right", None) for option in question.options]
        options = [
            {"key": variant.key(number), "count": counts[number], "right": is_right and rights[number]}
            for number in variant.order
        ]
        return {"type": "choices", "options": options}
    if isinstance(question, Quantity):
        values = sorted(map(float, answers))
        if len(values) > MOST_VALUES:  # evenly spaced ones, with the first and the last
            places = (round(place * (len(values) - 1) / (MOST_VALUES - 1)) for place in range(MOST_VALUES))
            values = [values[place] for place in places]
        return {"type": "numbers", "values": values}
    by_text: dict[str, list[Any]] = {}
    for answer in answers:
        by_text.setdefault(_line(variant, answer), []).append(answer)
    most = sorted(by_text.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_ANSWERS]
    rows = [{"text": text, "count": len(same), "right": is_right and is_right(same[0])} for text, same in most]
    return {"type": "words", "answers": rows}


def _line(variant: DrawnQuestion, answer: Any) -> str:
    """An answer as the label of a chart's bar; answers with the same meaning have the same label."""
    match variant.question:
        case Text():
            return text_input.normalised(answer)
        case Match() as question:
            return " ".join(f"{place}{right}" for place, right in question.sent(variant, answer).items())
        case Order() as question:
            return " ".join(question.sent(variant, answer))
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in answer.items()}
    return ", ".join(f"{name} {value}" for name, value in sorted(texts.items()))


@dataclass(frozen=True)
class AnswerChoice:
    """One answer and how many people gave it. Options have the letters of the deck's order, without shuffling."""

    label: str
    text: str
    right: bool | None  # None: no answer is right, or it is unknown
    count: int
    feedback: str = ""  # the deck's feedback on this answer


def plain(results: Results, question: Question, markdown: str) -> str:
    """A text of a question on one line; numbers that differ between learners keep their names."""
    return _plain(markdown, tuple(sorted(results.numbers.get(question.id, {}).items())))


@lru_cache(maxsize=4000)
def _plain(markdown: str, numbers: tuple[tuple[str, float], ...]) -> str:
    return rendering.plain(markdown, dict(numbers))


def answer_text(results: Results, question: Question, answer: Any) -> str | float:
    """One answer in words; a number stays a number."""

    def text(markdown: str) -> str:
        return plain(results, question, markdown)

    match question:
        case WithOptions():
            return "; ".join(
                f"{LETTERS[place].upper()}: {text(question.options[place].text)}" for place in chosen(answer)
            )
        case Quantity():
            return float(answer) if isinstance(answer, float) else int(answer)
        case Match():
            pairs = zip(question.pairs, answer, strict=True)
            return "; ".join(f"{text(pair.left)} – {text(question.rights[place])}" for pair, place in pairs)
        case Order():
            return " → ".join(text(question.items[place]) for place in answer)
        case Place():
            return placed(answer)
    return str(answer)


def choices(results: Results, question: Question) -> Iterator[AnswerChoice]:
    """The possible answers and how many people gave them; answers of the deck come first."""
    answers = results.answers_to[question.id]
    match question:
        case WithOptions():
            for place, option in enumerate(question.options):
                same = [answer for answer in answers if place in chosen(answer.answer)]
                feedback = plain(results, question, getattr(option, "feedback", ""))
                text, right = plain(results, question, option.text), getattr(option, "right", None)
                yield _choice(LETTERS[place].upper(), text, right, same, feedback)
        case Match():
            yield from _pairs(results, question, answers)
        case Order():
            # Wrong orders use the items' numbers in the right order, because texts would be too long.
            items = [f"{number}. {plain(results, question, item)}" for number, item in enumerate(question.items, 1)]
            yield _choice("right", " → ".join(items), True, [answer for answer in answers if answer.right])
            wrong = [answer for answer in answers if not answer.right]
            yield from _others(wrong, lambda order: " → ".join(str(place + 1) for place in order))
        case Predict():
            yield from _predictions(question, answers, results.truths.get(question.id))
        case Number():
            truth, numbers = results.truths.get(question.id), results.numbers.get(question.id, {})
            right = question.with_unit(truth) if truth is not None else "each learner's own"
            nears = [_near_number(question, near.answer, numbers) for near in question.near]
            yield from _with_near(results, question, question.with_unit, right, nears)
        case Text():
            nears = [words.listed(near.accept) for near in question.near]
            yield from _with_near(results, question, text_input.normalised, words.listed(question.accept), nears)
        case Place():
            nears = [placed(near.placement) for near in question.near]
            right = f"{placed(question.right)}, or what places ranks alike"
            yield from _with_near(results, question, placed, right, nears)


def _pairs(results: Results, question: Match, answers: Sequence[RoundAnswer]) -> Iterator[AnswerChoice]:
    """A row for each right pair, and for each other pair that was answered."""
    for place, pair in enumerate(question.pairs):
        for right, partner in enumerate(question.rights):
            same = [answer for answer in answers if answer.answer[place] == right]
            if same or place == right:
                text = f"{plain(results, question, pair.left)} – {plain(results, question, partner)}"
                yield _choice(f"pair {place + 1}", text, place == right, same)


def _predictions(question: Predict, answers: Sequence[RoundAnswer], truth: float | None) -> Iterator[AnswerChoice]:
    if truth is None or question.kind == "rank":
        yield from _others(answers, question.with_unit)
        return
    right, off = question.with_unit(truth), [answer for answer in answers if not answer.right]
    yield _choice("right", f"close to {right}", True, [answer for answer in answers if answer.right])
    yield _choice("too low", f"below {right}", False, [answer for answer in off if answer.answer < truth])
    yield _choice("too high", f"above {right}", False, [answer for answer in off if answer.answer >= truth])


def _near_number(question: Number, near: float | str, numbers: Mapping[str, float]) -> str:
    """A misconception's number; its expression where learners' numbers differ."""
    if not isinstance(near, str):
        return question.with_unit(near)
    if question.numbers.keys() <= numbers.keys():
        return question.with_unit(expressions.evaluate(near, numbers))
    return f"{near} {question.unit}".strip()


def _with_near(
    results: Results, question: Number | Text | Place, name: Callable[[Any], str], right: str, near_texts: Sequence[str]
) -> Iterator[AnswerChoice]:
    """Rows of the right answer, of the deck's misconceptions, and of other answers, the most frequent first."""
    answers = results.answers_to[question.id]
    yield _choice("right", right, True, [answer for answer in answers if answer.right])
    nears: Sequence[NearNumber | NearText | NearPlacement] = question.near
    for place, (near, text) in enumerate(zip(nears, near_texts, strict=True)):
        same = [answer for answer in answers if answer.near == place and not answer.right]
        yield _choice(f"misconception {place + 1}", text, False, same, plain(results, question, near.feedback))
    yield from _others([answer for answer in answers if not answer.right and answer.near is None], name)


def _others(answers: Sequence[RoundAnswer], name: Callable[[Any], str]) -> Iterator[AnswerChoice]:
    """Rows of answers that are not in the deck, the most frequent first; `name` puts an answer into words."""
    by_text: dict[str, list[RoundAnswer]] = {}
    for answer in answers:
        by_text.setdefault(name(answer.answer), []).append(answer)
    # Equally frequent answers are in alphabetical order, so that a report doesn't change.
    ordered = sorted(by_text.items(), key=lambda item: (-len(item[1]), item[0]))
    for text, same in ordered[:MOST_LISTED]:
        yield _choice("other", text, same[0].right, same)
    if few := ordered[MOST_LISTED:]:
        rare = [answer for _, same in few for answer in same]
        yield _choice("other", words.count(len(few), "rarer answer"), None, rare)


def _choice(
    label: str, text: str, right: bool | None, answers: Iterable[RoundAnswer], feedback: str = ""
) -> AnswerChoice:
    """The row of an answer; `answers` are the learners' equal answers."""
    return AnswerChoice(label, text, right, len({answer.player for answer in answers}), feedback)
