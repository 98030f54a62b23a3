"""All findings about a round: its figures, and Verdict, Why, Next."""

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
from workshop.quiz.results.revision import RevisionItem, revision_items

CLASS = 5  # from this number of learners on, texts call them a class
FIRST = 3  # questions that the next step names
_LEVELS = (
    (0.8, "knows nearly all of this"),
    (0.6, "knows most of this"),
    (0.4, "knows about half of this"),
    (0.0, "does not know most of this yet"),
)


def verdict(
    results: Results,
    questions: Sequence[Item],
    people: Sequence[LearnerResult],
    revision: Sequence[RevisionItem],
    help_needs: Sequence[HelpNeed],
) -> dict[str, str]:
    """`verdict`, `why` and `next`, each with one or more sentences."""
    if not people:
        return _nothing("Nobody took part", "There is no learner in this round, or none is left in it.")
    if not results.answers:
        return _nothing("Nobody answered", f"{_learners(people)} took part and gave no answer.")
    shares = [learner.share for learner in people if learner.share is not None]
    judged = [item for item in questions if item.share is not None]
    if not judged or not shares:
        why = f"{_participation(questions, people)} None of the questions has a right answer, or none has been judged."
        return {"verdict": "There are answers, but no marks", "why": why, "next": "Talk about what was chosen."}
    mark = fmean(shares)
    level = next(words for least, words in _LEVELS if mark >= least)
    who = "The class" if len(people) >= CLASS else "This group" if len(people) > 1 else "This learner"
    return {
        "verdict": f"{who} {level}: {say.percent(mark)} of the marks",
        "why": f"{_participation(questions, people)} {_extremes(judged)}{_caution(people)}",
        "next": _next(revision, help_needs),
    }


def _nothing(verdict: str, why: str) -> dict[str, str]:
    return {
        "verdict": verdict,
        "why": why,
        "next": "Nothing can be said of the questions; play the round with a class.",
    }


def _learners(people: Sequence[LearnerResult]) -> str:
    return say.count(len(people), "learner")


def _participation(questions: Sequence[Item], people: Sequence[LearnerResult]) -> str:
    answered, possible = sum(item.answered for item in questions), sum(item.there for item in questions)
    question_count = say.count(len(questions), "question")
    return f"{_learners(people)} gave {answered} of {possible} possible answers to {question_count}."


def _extremes(judged: Sequence[Item]) -> str:
    """A sentence about the hardest and the easiest question."""
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


def _next(revision: Sequence[RevisionItem], help_needs: Sequence[HelpNeed]) -> str:
    if revision:
        named = [f"{item.number} ({item.reasons[0].words.rstrip('.')})" for item in revision[:FIRST]]
        more = f", and {say.count(len(revision) - FIRST, 'more')}".removesuffix("s") if len(revision) > FIRST else ""
        advice = f"Go over {'question' if len(revision) == 1 else 'questions'} {'; '.join(named)}{more}."
    else:
        advice = "No question needs to be gone over again."
    if help_needs:
        advice += f" {say.capital(say.count(len(help_needs), 'learner'))} may need help."
    return advice


@dataclass(frozen=True)
class RoundFindings:
    results: Results
    verdict: Mapping[str, str]  # verdict, why, next
    items: tuple[Item, ...]
    revision: tuple[RevisionItem, ...]
    learners: tuple[LearnerResult, ...]
    help: tuple[HelpNeed, ...]
    comparison: RoundComparison | None  # with an earlier round

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
            "again": [asdict(item) for item in self.revision],
            "learners": [asdict(learner) for learner in self.learners],
            "help": [asdict(need) for need in self.help],
            "comparison": None if self.comparison is None else _comparison(self.comparison),
            "notes": list(results.notes),
        }


def find(results: Results, before: Results | None = None, *, anonymous: bool = False) -> RoundFindings:
    """Compute the findings about a round; `before` is an earlier round for a comparison."""
    comparison = None if before is None else compare(before, results)
    displayed = results.anonymous() if anonymous else results
    questions, people = items(displayed), learners(displayed)
    revision, help_needs = revision_items(displayed, questions), help_wanted(people)
    return RoundFindings(
        displayed,
        verdict(displayed, questions, people, revision, help_needs),
        questions,
        revision,
        people,
        help_needs,
        comparison,
    )


def _comparison(comparison: RoundComparison) -> dict[str, Any]:
    changes = [{**asdict(change), "change": change.change} for change in comparison.changes]
    return {**asdict(comparison), "changes": changes}
