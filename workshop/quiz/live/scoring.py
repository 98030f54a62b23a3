"""The points of answers in a round, and the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BONUS = 0.5  # share of a question's points that an immediate right answer gets on top


def points(share: float, right: bool | None, worth: float, seconds: float, limit: float, *, speed_bonus: bool) -> float:
    """The points of an answer: its right share times what the question is `worth`. With `speed_bonus`, a right answer
    gets a bonus that falls in a straight line from half of its points to nothing after `limit` seconds, the question's
    own time limit: time that the host adds gives no bonus."""
    earned = share * worth
    if speed_bonus and right and limit > 0:
        earned *= 1 + BONUS * max(1 - seconds / limit, 0.0)
    return round(earned, 3)


def rules(*, speed_bonus: bool) -> str:
    """How points count, in words."""
    rule = "A right answer gives the question's points, and a partly right answer gives a share of them. "
    if not speed_bonus:
        return rule + "Speed doesn't matter."
    return rule + (
        "Speed counts as well: an immediate right answer gives half as much again. This bonus falls in a straight line "
        "to nothing at the end of the question's time. Predictions get no bonus."
    )


TOP = 10


@dataclass(frozen=True)
class Ranking:
    """Players by points. Place 1 is the best; players with equal points share a place, as in 1, 2, 2, 4."""

    order: tuple[int, ...]  # players, the best first
    places: Mapping[int, int]
    points: Mapping[int, float]

    def top(self, nicknames: Mapping[int, str], most: int = TOP) -> list[dict[str, Any]]:
        return [
            {"place": self.places[player], "nickname": nicknames[player], "points": self.points[player]}
            for player in self.order[:most]
        ]


def rank(points: Mapping[int, float]) -> Ranking:
    """Rank players by their points; players with equal points keep their order."""
    rounded = {player: round(value, 3) for player, value in points.items()}
    order = sorted(rounded, key=lambda player: -rounded[player])
    places: dict[int, int] = {}
    for number, player in enumerate(order, 1):
        before = order[number - 2] if number > 1 else None
        same = before is not None and rounded[before] == rounded[player]
        places[player] = places[before] if same and before is not None else number
    return Ranking(tuple(order), places, rounded)
