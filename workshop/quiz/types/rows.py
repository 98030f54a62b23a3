"""Rows of the answers to a question: an answer in words, and how many people gave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workshop.core import words
from workshop.quiz import rendering

if TYPE_CHECKING:
    from workshop.quiz.results.record import Results, RoundAnswer
    from workshop.quiz.types import Question

MOST_LISTED = 8  # listed answers of one question, besides the answers of the deck
SHORT = 90  # characters of an answer in a sentence


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


def short(text: str) -> str:
    """A text that is short enough for a quotation in a sentence."""
    return text if len(text) <= SHORT else text[: SHORT - 1].rstrip() + "…"


def row(label: str, text: str, right: bool | None, answers: Iterable[RoundAnswer], feedback: str = "") -> AnswerChoice:
    """The row of an answer; `answers` are the learners' equal answers."""
    return AnswerChoice(label, text, right, len({answer.player for answer in answers}), feedback)


def with_near(
    results: Results,
    question: Any,
    name: Callable[[Any], str],
    right: str,
    near_texts: Sequence[str],
) -> Iterator[AnswerChoice]:
    """Rows of the right answer, of the deck's misconceptions, and of other answers, the most frequent first."""
    answers = results.answers_to(question.id)
    yield row("right", right, True, [answer for answer in answers if answer.right])
    for place, (near, text) in enumerate(zip(question.near, near_texts, strict=True)):
        same = [answer for answer in answers if answer.near == place and not answer.right]
        feedback = plain(results, question, near.feedback)
        yield row(f"misconception {place + 1}", text, False, same, feedback)
    yield from others([answer for answer in answers if not answer.right and answer.near is None], name)


def others(answers: Sequence[RoundAnswer], name: Callable[[Any], str]) -> Iterator[AnswerChoice]:
    """Rows of answers that are not in the deck, the most frequent first; `name` puts an answer into words."""
    named = [(name(answer.answer), answer) for answer in answers]
    often = Counter(text for text, _ in named)
    # Equally frequent answers are in alphabetical order, so that a report doesn't change.
    ordered = sorted(often, key=lambda text: (-often[text], text))
    for text in ordered[:MOST_LISTED]:
        same = [answer for other, answer in named if other == text]
        yield row("other", text, same[0].right, same)
    if few := set(ordered[MOST_LISTED:]):
        rare = [answer for text, answer in named if text in few]
        yield row("other", words.count(len(few), "rarer answer"), None, rare)
