"""All that there is to say of a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workshop.quiz.results.comparison import Comparison, compare
from workshop.quiz.results.items import Item, items
from workshop.quiz.results.learners import Help, Learner, help_wanted, learners
from workshop.quiz.results.record import Results
from workshop.quiz.results.revision import Again, again
from workshop.quiz.results.verdict import verdict


@dataclass(frozen=True)
class Findings:
    results: Results
    verdict: Mapping[str, str]  # verdict, why, next
    items: tuple[Item, ...]
    again: tuple[Again, ...]
    learners: tuple[Learner, ...]
    help: tuple[Help, ...]
    comparison: Comparison | None  # with an earlier round, where asked

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


def find(results: Results, before: Results | None = None, *, anonymous: bool = False) -> Findings:
    """What a round says; `before` is an earlier one to compare it with."""
    comparison = None if before is None else compare(before, results)
    shown = results.anonymous() if anonymous else results
    found, people = items(shown), learners(shown)
    over, wanted = again(shown, found), help_wanted(people)
    return Findings(shown, verdict(shown, found, people, over, wanted), found, over, people, wanted, comparison)


def _comparison(comparison: Comparison) -> dict[str, Any]:
    changes = [{**asdict(one), "change": one.change} for one in comparison.changes]
    return {**asdict(comparison), "changes": changes}
