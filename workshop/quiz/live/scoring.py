"""What answers are worth in a round, and who leads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BONUS = 0.5  # of a question's points, for a right answer at once


def points(share: float, right: bool | None, worth: float, seconds: float, limit: float, *, speed_bonus: bool) -> float:
    """The points of an answer: the share of it that is right times what the question is `worth`. With `speed_bonus`, a
    right one gets half as much again at once, falling in a straight line to nothing after `limit` seconds, which is
    the question's own time: time that was added gives no bonus."""
    earned = share * worth
    if speed_bonus and right and limit > 0:
        earned *= 1 + BONUS * max(1 - seconds / limit, 0.0)
    return round(earned, 3)


def rules(*, speed_bonus: bool) -> str:
    """How points count, in words."""
    said = "A right answer gives the question's points, one that is partly right its share of them; how fast it came "
    if not speed_bonus:
        return said + "doesn't matter."
    return said + (
        "counts as well: a right one at once gives half as much again, falling in a straight line to nothing at the "
        "end of the question's time; predictions get nothing for it."
    )


TOP = 10


@dataclass(frozen=True)
class Ranking:
    """`places` are 1 for the best; who has as many points shares a place, and the next one comes that much later."""

    order: tuple[int, ...]  # players, the best first
    places: Mapping[int, int]
    points: Mapping[int, float]

    def top(self, nicknames: Mapping[int, str], most: int = TOP) -> list[dict[str, Any]]:
        return [
            {"place": self.places[player], "nickname": nicknames[player], "points": self.points[player]}
            for player in self.order[:most]
        ]


def rank(points: Mapping[int, float]) -> Ranking:
    """The ranking of players by their points; within a place in the order in which they are given."""
    rounded = {player: round(value, 3) for player, value in points.items()}
    order = sorted(rounded, key=lambda player: -rounded[player])
    places: dict[int, int] = {}
    for number, player in enumerate(order, 1):
        before = order[number - 2] if number > 1 else None
        same = before is not None and rounded[before] == rounded[player]
        places[player] = places[before] if same and before is not None else number
    return Ranking(tuple(order), places, rounded)
