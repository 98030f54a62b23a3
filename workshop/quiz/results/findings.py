"""All that there is to say of a round: its figures, and Verdict, Why, Next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from workshop.core import words as say
from workshop.quiz.results.comparison import RoundComparison, compare
from workshop.quiz.results.items import Item, items
from workshop.quiz.results.learners import HelpNeed, LearnerResult, help_wanted, learners
from workshop.quiz.results.record import Results
from workshop.quiz.results.revision import RevisionItem, again

CLASS = 5  # learners from which on it is a class that is spoken of
FIRST = 3  # questions that are named as the next step
_LEVELS = (
    (0.8, "knows nearly all of this"),
    (0.6, "knows most of this"),
    (0.4, "knows about half of this"),
    (0.0, "does not know most of this yet"),
)


def verdict(
    results: Results,
    found: Sequence[Item],
    people: Sequence[LearnerResult],
    over: Sequence[RevisionItem],
    wanted: Sequence[HelpNeed],
) -> dict[str, str]:
    """`verdict`, `why` and `next`, each a sentence or some."""
    if not people:
        return _nothing("Nobody took part", "There is no learner in this round, or none is left in it.")
    if not results.answers:
        return _nothing("Nobody answered", f"{_learners(people)} took part and gave no answer.")
    shares = [one.share for one in people if one.share is not None]
    judged = [item for item in found if item.share is not None]
    if not judged or not shares:
        why = f"{_given(found, people)} None of the questions has a right answer, or none has been judged."
        return {"verdict": "There are answers, but no marks", "why": why, "next": "Talk about what was chosen."}
    mark = fmean(shares)
    level = next(words for least, words in _LEVELS if mark >= least)
    who = "The class" if len(people) >= CLASS else "This group" if len(people) > 1 else "This learner"
    return {
        "verdict": f"{who} {level}: {say.percent(mark)} of the marks",
        "why": f"{_given(found, people)} {_extremes(judged)}{_caution(people)}",
        "next": _next(over, wanted),
    }


def _nothing(verdict: str, why: str) -> dict[str, str]:
    return {
        "verdict": verdict,
        "why": why,
        "next": "Nothing can be said of the questions; play the round with a class.",
    }


def _learners(people: Sequence[LearnerResult]) -> str:
    return say.count(len(people), "learner")


def _given(found: Sequence[Item], people: Sequence[LearnerResult]) -> str:
    given, possible = sum(item.answered for item in found), sum(item.there for item in found)
    asked = say.count(len(found), "question")
    return f"{_learners(people)} gave {given} of {possible} possible answers to {asked}."


def _extremes(judged: Sequence[Item]) -> str:
    """The hardest and the easiest question, where they differ."""
    hard, easy = min(judged, key=lambda item: item.share or 0.0), max(judged, key=lambda item: item.share or 0.0)
    if hard.share == easy.share:
        return f"All of them were equally hard ({hard.right} of {hard.judged} right)."
    return (
        f"Hardest was question {hard.number} ({hard.right} of {hard.judged} right), easiest question {easy.number} "
        f"({easy.right} of {easy.judged})."
    )


def _caution(people: Sequence[LearnerResult]) -> str:
    if len(people) >= CLASS:
        return ""
    return f" With {_learners(people)} this says little of the questions; intervals are wide, and groups can't be made."


def _next(over: Sequence[RevisionItem], wanted: Sequence[HelpNeed]) -> str:
    if over:
        named = [f"{one.number} ({one.reasons[0].words.rstrip('.')})" for one in over[:FIRST]]
        more = f", and {say.count(len(over) - FIRST, 'more')}".removesuffix("s") if len(over) > FIRST else ""
        told = f"Go over {'question' if len(over) == 1 else 'questions'} {'; '.join(named)}{more}."
    else:
        told = "No question needs to be gone over again."
    if wanted:
        told += f" {say.capital(say.count(len(wanted), 'learner'))} may need help."
    return told


@dataclass(frozen=True)
class RoundFindings:
    results: Results
    verdict: Mapping[str, str]  # verdict, why, next
    items: tuple[Item, ...]
    again: tuple[RevisionItem, ...]
    learners: tuple[LearnerResult, ...]
    help: tuple[HelpNeed, ...]
    comparison: RoundComparison | None  # with an earlier round, where asked

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop quiz results --json`. Shares are 0..1, times are seconds."""
        results = self.results
        return {
            "round": results.round,
            "title": results.title,
            "deck": results.deck.deck,
            "began": results.began,
            **self.verdict,
            "players": len(results.players),
            "questions": [asdict(item) for item in self.items],
            "again": [asdict(one) for one in self.again],
            "learners": [asdict(one) for one in self.learners],
            "help": [asdict(one) for one in self.help],
            "comparison": None if self.comparison is None else _comparison(self.comparison),
            "notes": list(results.notes),
        }


def find(results: Results, before: Results | None = None, *, anonymous: bool = False) -> RoundFindings:
    """What a round says; `before` is an earlier one to compare it with."""
    comparison = None if before is None else compare(before, results)
    shown = results.anonymous() if anonymous else results
    found, people = items(shown), learners(shown)
    over, wanted = again(shown, found), help_wanted(people)
    return RoundFindings(shown, verdict(shown, found, people, over, wanted), found, over, people, wanted, comparison)


def _comparison(comparison: RoundComparison) -> dict[str, Any]:
    changes = [{**asdict(one), "change": one.change} for one in comparison.changes]
    return {**asdict(comparison), "changes": changes}
