"""What an answer is worth in a round."""

from __future__ import annotations

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
