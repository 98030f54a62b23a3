"""What answers are worth, and who leads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.quiz import live
from workshop.quiz.live import rank


@pytest.mark.parametrize(
    ("share", "right", "seconds", "bonus", "expected"),
    [
        (1.0, True, 0.0, False, 2.0),
        (1.0, True, 0.0, True, 3.0),
        (1.0, True, 10.0, True, 2.5),
        (1.0, True, 35.0, True, 2.0),  # in time that was added
        (0.5, False, 0.0, True, 1.0),  # only right answers get more
        (0.0, None, 0.0, True, 0.0),
    ],
)
def test_points(share: float, right: bool | None, seconds: float, bonus: bool, expected: float) -> None:
    assert live.points(share, right, 2.0, seconds, 20.0, speed_bonus=bonus) == expected


@given(st.dictionaries(st.integers(1, 50), st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0]), max_size=20))
def test_places_count_those_who_are_better(points: dict[int, float]) -> None:
    ranking = rank(points)
    assert sorted(ranking.order) == sorted(points)
    for player, value in points.items():
        assert ranking.places[player] == 1 + sum(other > value for other in points.values())
    listed = [ranking.points[player] for player in ranking.order]
    assert listed == sorted(listed, reverse=True)


def test_the_top_is_ten() -> None:
    names = {player: f"P{player}" for player in range(20)}
    top = rank({player: float(player) for player in range(20)}).top(names)
    assert len(top) == 10
    assert top[0] == {"place": 1, "nickname": "P19", "points": 19.0}
