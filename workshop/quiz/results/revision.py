"""Finds the questions to go over again, with reasons and with what to say."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from workshop.core import words as say
from workshop.quiz.results.items import Item
from workshop.quiz.results.record import Results
from workshop.quiz.types import Question
from workshop.quiz.types.rows import AnswerChoice, short

FEW = 0.5  # share of right answers below which a question needs revision
MANY = 1 / 3  # share of the answers from which on a misconception is common
GUESSED = 5  # answers needed for the statement that a share is no better than guessing
SLOW = 0.75  # share of the time limit from which on answers are slow
LONG = 2.0  # multiple of the questions' median time from which on answers are slow, without a time limit
ANOTHER = 0.2  # what each further reason adds to the need


@dataclass(frozen=True)
class Reason:
    kind: str  # "misconception", "few", "guessed", "best", "slow", "missed"
    words: str  # one sentence
    say: str = ""  # the deck's feedback


@dataclass(frozen=True)
class RevisionItem:
    """A question to go over again. The need is the share of wrong answers, plus something for each further reason."""

    number: int
    id: str
    text: str
    need: float
    reasons: tuple[Reason, ...]


def revision_items(results: Results, items: Sequence[Item]) -> tuple[RevisionItem, ...]:
    """The questions that need revision, by descending need."""
    pace = [item.seconds.median for item in items if item.seconds is not None]
    usual = median(pace) if len(pace) >= 4 else math.inf
    revision = []
    for item in items:
        question = results.deck.question(item.id)
        if reasons := tuple(_reasons(results, question, item, usual)):
            need = (1 - item.share if item.share is not None else 0.0) + ANOTHER * (len(reasons) - 1)
            revision.append(RevisionItem(item.number, item.id, item.text, need, reasons))
    return tuple(sorted(revision, key=lambda item: (-item.need, item.number)))


def _reasons(results: Results, question: Question, item: Item, usual: float) -> Iterable[Reason]:
    if not question.marked:
        return
    if not question.measured and (row := _shared(item)) is not None:
        yield Reason(
            "misconception",
            f"{row.count} of {item.answered} gave the same wrong answer: {short(row.text)}{question.numbering}.",
            row.feedback,
        )
    if item.share is not None and item.share < FEW:
        yield Reason("few", f"{item.right} of {item.judged} had it right.")
        chance = question.guessed()
        if chance and item.interval and item.judged >= GUESSED and item.interval[0] <= chance <= item.interval[1]:
            options = f"{round(1 / chance)} options"
            yield Reason("guessed", f"That is no more than guessing among {options} gives ({say.percent(chance)}).")
    value = item.discrimination.value
    # One standard error below 0 happens by chance less than once in six times. Measured answers have no wrong key.
    if not question.measured and value is not None and value < -1 / math.sqrt(item.discrimination.of - 1):
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
    """The most common wrong answer, if it is common and at least two people gave it."""
    wrong = [row for row in item.chosen if row.right is False]
    row = max(wrong, key=lambda row: row.count, default=None)
    return row if row is not None and row.count >= 2 and row.count >= MANY * item.answered else None
