"""The upper and the lower group of a class, by their score on the other questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from workshop.quiz.results.record import Results

LEAST = 6  # learners who answered; a third of fewer learners is one person
KELLEY = 40  # from this number of learners on, 27 % are enough people
# The share that separates two groups best (Kelley, The selection of upper and lower groups for the validation of
# test items, Journal of Educational Psychology 30, 1939).
SHARE = 0.27


@dataclass(frozen=True)
class Groups:
    """Players of the upper and the lower group. If both are empty, `words` says why."""

    upper: frozenset[int]
    lower: frozenset[int]
    words: str

    def __bool__(self) -> bool:
        return bool(self.upper)


def rest(results: Results, question: str) -> Mapping[int, float]:
    """Each player's score on the other questions, 0..1: the share of the possible marks, without a speed bonus.
    Unanswered questions give no marks if the player was present. Players without any other question are omitted."""
    others = [other for other in results.questions if other.id != question and results.counts(other.id)]
    worth = {other.id: results.deck.points_of(other) for other in others}
    present = {other.id: results.present(other.id) for other in others}
    scores = {}
    for player in results.players:
        answers = results.answers_by(player.id)
        possible = [id for id in worth if player.id in present[id]]
        if most := math.fsum(worth[id] for id in possible):
            got = (worth[id] * (answers[id].share or 0.0) for id in possible if id in answers)
            scores[player.id] = math.fsum(got) / most
    return scores


def groups(scores: Mapping[int, float]) -> Groups:
    """Divide the players with these scores. Everybody with the same score as the last one of a group belongs to it."""
    nobody: frozenset[int] = frozenset()
    if len(scores) < LEAST:
        return Groups(nobody, nobody, f"Fewer than {LEAST} answered, so that they aren't divided into groups.")
    share, name = (SHARE, "27 %") if len(scores) >= KELLEY else (1 / 3, "third")
    size = max(round(share * len(scores)), 1)
    ordered = sorted(scores.values())
    low, high = ordered[size - 1], ordered[-size]
    if high - low < 1e-9:
        return Groups(nobody, nobody, "Too many did equally well on the other questions to be divided into groups.")
    upper = frozenset(player for player, score in scores.items() if score >= high - 1e-9)
    lower = frozenset(player for player, score in scores.items() if score <= low + 1e-9)
    return Groups(
        upper,
        lower,
        f"Upper and lower {name} by the score on the other questions: {len(upper)} and {len(lower)} learners.",
    )
