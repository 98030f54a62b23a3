"""What people answered: for each question the answers that it could have, and how many gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workshop.core import words as say
from workshop.quiz import expressions, rendering, text_input
from workshop.quiz.deck import Base
from workshop.quiz.results.groups import Groups
from workshop.quiz.results.record import Results, RoundAnswer

MOST = 8  # answers of one question that are listed, besides those that the deck knows
LETTERS = "ABCDEFGHIJKL"
SHORT = 90  # characters of an answer in a sentence


@dataclass(frozen=True)
class AnswerChoice:
    """One answer and who gave it. Options are lettered as in the deck, not as they were shuffled."""

    label: str
    text: str
    right: bool | None  # None: nothing is right, or it isn't known
    count: int
    upper: int | None  # of the upper group; None where there are no groups
    lower: int | None
    feedback: str = ""  # what the deck says to whoever gave it


def chosen(results: Results, question: Base, groups: Groups) -> tuple[AnswerChoice, ...]:
    """The answers of one question, those of the deck first; a match has a row for each pair that somebody made."""
    return tuple(_KINDS[question.type](results, question, groups))


def plain(results: Results, question: Base, markdown: str) -> str:
    """A text of a question on one line; numbers that differ from learner to learner keep their names."""
    return _plain(markdown, tuple(sorted(results.numbers.get(question.id, {}).items())))


@lru_cache(maxsize=4000)
def _plain(markdown: str, numbers: tuple[tuple[str, float], ...]) -> str:
    return rendering.plain(markdown, dict(numbers))


def short(text: str) -> str:
    """Something quoted in a sentence."""
    return text if len(text) <= SHORT else text[: SHORT - 1].rstrip() + "…"


def given(results: Results, question: Any, answer: Any) -> str | float:
    """One answer in words; numbers stay numbers."""
    match question.type:
        case "single" | "multiple" | "poll":
            texts = [
                (LETTERS[place], plain(results, question, question.options[place].text)) for place in _several(answer)
            ]
            return "; ".join(f"{letter}: {text}" for letter, text in texts)
        case "order":
            return " → ".join(plain(results, question, question.items[place]) for place in answer)
        case "match":
            lefts = [plain(results, question, pair.left) for pair in question.pairs]
            rights = [plain(results, question, question.rights[place]) for place in answer]
            return "; ".join(f"{left} – {right}" for left, right in zip(lefts, rights, strict=True))
        case "place":
            return placed(answer)
    return answer


def number(value: float) -> str:
    """A number as somebody may have typed it."""
    return f"{value:.6g}"


def placed(fields: Mapping[str, Any]) -> str:
    """A placement that somebody composed; fields that were left open are left out."""
    return ", ".join(f"{name} {value}" for name, value in sorted(fields.items()) if value is not None)


def _row(
    groups: Groups, label: str, text: str, right: bool | None, who: Iterable[RoundAnswer], feedback: str = ""
) -> AnswerChoice:
    players = {one.player for one in who}
    upper, lower = (len(players & groups.upper), len(players & groups.lower)) if groups else (None, None)
    return AnswerChoice(label, text, right, len(players), upper, lower, feedback)


def _options(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    for place, option in enumerate(question.options):
        who = [one for one in results.of(question.id) if place in _several(one.answer)]
        feedback = plain(results, question, getattr(option, "feedback", ""))
        text = plain(results, question, option.text)
        yield _row(groups, LETTERS[place], text, getattr(option, "right", None), who, feedback)


def _several(answer: Any) -> Collection[int]:
    return answer if isinstance(answer, list | tuple) else (answer,)


def _near(
    results: Results, question: Any, groups: Groups, name: Callable[[Any], str], right: str
) -> Iterable[AnswerChoice]:
    """The right answer, misconceptions that the deck knows, and what else was answered, the most frequent first."""
    answers = results.of(question.id)
    yield _row(groups, "right", right, True, [one for one in answers if one.right])
    for place, near in enumerate(question.near):
        who = [one for one in answers if one.near == place and not one.right]
        given = _near_answer(results, question, near)
        yield _row(groups, f"misconception {place + 1}", given, False, who, plain(results, question, near.feedback))
    yield from _others(groups, [one for one in answers if not one.right and one.near is None], name)


def _near_answer(results: Results, question: Any, near: Any) -> str:
    match question.type:
        case "number":
            known = results.numbers.get(question.id, {})
            if isinstance(near.answer, str) and question.numbers.keys() <= known.keys():
                return f"{number(expressions.evaluate(near.answer, known))} {question.unit}".strip()
            value = near.answer if isinstance(near.answer, str) else number(near.answer)
            return f"{value} {question.unit}".strip()
        case "text":
            return say.listed(near.accept)
    return placed(near.placement)


def _others(groups: Groups, answers: Sequence[RoundAnswer], name: Callable[[Any], str]) -> Iterable[AnswerChoice]:
    named = [(name(one.answer), one) for one in answers]
    often = Counter(text for text, _ in named)
    # Equally frequent ones in the order of the alphabet, so that a report reads the same each time.
    ordered = sorted(often, key=lambda text: (-often[text], text))
    for text in ordered[:MOST]:
        who = [one for given, one in named if given == text]
        yield _row(groups, "other", text, who[0].right, who)
    if few := set(ordered[MOST:]):
        who = [one for given, one in named if given in few]
        yield _row(groups, "other", say.count(len(few), "rarer answer"), None, who)


def _numbers(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    truth = results.truths.get(question.id)
    right = f"{number(truth)} {question.unit}".strip() if truth is not None else "each learner's own"
    return _near(results, question, groups, lambda value: f"{number(value)} {question.unit}".strip(), right)


def _predicted(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    answers, truth = results.of(question.id), results.truths.get(question.id)

    def unit(value: float) -> str:
        return f"{number(value)} {question.unit}".strip()

    if truth is None or question.kind == "rank":
        yield from _others(groups, answers, unit)
        return
    off = [one for one in answers if not one.right]
    yield _row(groups, "right", f"close to {unit(truth)}", True, [one for one in answers if one.right])
    yield _row(groups, "too low", f"below {unit(truth)}", False, [one for one in off if one.answer < truth])
    yield _row(groups, "too high", f"above {unit(truth)}", False, [one for one in off if one.answer >= truth])


def _orders(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    """Wrong orders by the numbers that items have in the right one: whole texts would be too long to compare."""
    items = [f"{number}. {plain(results, question, item)}" for number, item in enumerate(question.items, 1)]
    answers = results.of(question.id)
    yield _row(groups, "right", " → ".join(items), True, [one for one in answers if one.right])
    wrong = [one for one in answers if not one.right]
    yield from _others(groups, wrong, lambda order: " → ".join(str(place + 1) for place in order))


def _pairs(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    lefts = [plain(results, question, pair.left) for pair in question.pairs]
    rights = [plain(results, question, right) for right in question.rights]
    answers = results.of(question.id)
    for left, name in enumerate(lefts):
        for right, partner in enumerate(rights):
            who = [one for one in answers if one.answer[left] == right]
            if who or left == right:
                yield _row(groups, f"pair {left + 1}", f"{name} – {partner}", left == right, who)


def _texts(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    return _near(results, question, groups, text_input.alike, say.listed(question.accept))


def _placements(results: Results, question: Any, groups: Groups) -> Iterable[AnswerChoice]:
    return _near(results, question, groups, placed, f"{placed(question.right)}, or what places ranks alike")


_KINDS: dict[str, Callable[[Results, Any, Groups], Iterable[AnswerChoice]]] = {
    "single": _options,
    "multiple": _options,
    "poll": _options,
    "number": _numbers,
    "predict": _predicted,
    "order": _orders,
    "match": _pairs,
    "text": _texts,
    "place": _placements,
}
