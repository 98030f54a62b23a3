"""Who leads in a round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
