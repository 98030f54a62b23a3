"""Questions to go over again: which, why, and what to say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from workshop.core import words as say
from workshop.quiz.deck import Base
from workshop.quiz.results.answer_choices import AnswerChoice, short
from workshop.quiz.results.items import Item
from workshop.quiz.results.record import Results

FEW = 0.5  # share right below which a question is gone over again
MANY = 1 / 3  # share of the answers that makes a misconception one that many share
GUESSED = 5  # answers from which on it can be told that a share is what guessing gives
SLOW = 0.75  # of the time limit
LONG = 2.0  # times the median of the questions, where there was no limit
ANOTHER = 0.2  # what each further reason adds to the need


@dataclass(frozen=True)
class Reason:
    kind: str  # "misconception", "few", "guessed", "best", "slow", "missed"
    words: str  # one sentence
    say: str = ""  # what the deck says to it


@dataclass(frozen=True)
class RevisionItem:
    """A question to go over again. The need is the share that wasn't right, and somewhat more for each reason."""

    number: int
    id: str
    text: str
    need: float
    reasons: tuple[Reason, ...]


def again(results: Results, found: Sequence[Item]) -> tuple[RevisionItem, ...]:
    """The questions that need it, the neediest first; none where nothing is to be said."""
    pace = [item.seconds.median for item in found if item.seconds is not None]
    usual = median(pace) if len(pace) >= 4 else math.inf
    made = []
    for item in found:
        question = results.deck.question(item.id)
        if reasons := tuple(_reasons(results, question, item, usual)):
            need = (1 - item.share if item.share is not None else 0.0) + ANOTHER * (len(reasons) - 1)
            made.append(RevisionItem(item.number, item.id, item.text, need, reasons))
    return tuple(sorted(made, key=lambda one: (-one.need, one.number)))


def _reasons(results: Results, question: Base, item: Item, usual: float) -> Iterable[Reason]:
    if item.type == "poll":
        return
    if (row := _shared(item)) is not None:
        numbered = " (as numbered in the right order)" if item.type == "order" else ""
        yield Reason(
            "misconception",
            f"{row.count} of {item.answered} gave the same wrong answer: {short(row.text)}{numbered}.",
            row.feedback,
        )
    if item.share is not None and item.share < FEW:
        yield Reason("few", f"{item.right} of {item.judged} had it right.")
        if _is_guessed(question, item):
            options = len(item.chosen)
            yield Reason(
                "guessed",
                f"That is no more than guessing among {options} options gives ({say.percent(1 / options)}).",
            )
    value = item.discrimination.value
    # One standard error below nothing: rarer than every sixth time by chance. What is measured has no wrong key.
    if item.type != "predict" and value is not None and value < -1 / math.sqrt(item.discrimination.of - 1):
        yield Reason(
            "best",
            "Those who did well on the other questions got it wrong more often: look at its key and its wording.",
        )
    if results.timed and item.there and item.answered < item.there * 2 / 3:
        yield Reason("missed", f"{item.answered} of {item.there} answered it in time.")
    if item.seconds is not None and item.answered >= 2:
        limit = results.deck.seconds_of(question)
        if results.timed and item.seconds.median > SLOW * limit:
            yield Reason("slow", f"Half of the answers took {say.seconds(item.seconds.median)} or more of {limit} s.")
        elif not results.timed and item.seconds.median > LONG * usual:
            yield Reason(
                "slow",
                f"Half of the answers took {say.seconds(item.seconds.median)} or more, where {say.seconds(usual)} is "
                "usual for this deck.",
            )


def _shared(item: Item) -> AnswerChoice | None:
    """The wrong answer that most people share, if many do and at least two. Guesses of a run are nobody's mistake."""
    if item.type == "predict":
        return None
    wrong = [row for row in item.chosen if row.right is False]
    row = max(wrong, key=lambda row: row.count, default=None)
    return row if row is not None and row.count >= 2 and row.count >= MANY * item.answered else None


def _is_guessed(question: Base, item: Item) -> bool:
    if question.type != "single" or item.judged < GUESSED or item.interval is None:
        return False
    low, high = item.interval
    return low <= 1 / len(item.chosen) <= high
