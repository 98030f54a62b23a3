"""Gains of questions on which a class voted twice, before and after talking about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workshop.core import words as say
from workshop.quiz.results.record import RoundAnswer


@dataclass(frozen=True)
class Gain:
    """Two votes on a question. Shares are of the graded answers, 0..1; changes are of learners who voted twice."""

    before: float  # share of right answers in the first vote
    after: float  # in the second vote
    improved: int  # learners whose first answer was wrong and whose second answer is right
    worsened: int
    both: int  # learners who voted twice

    @property
    def normalised(self) -> float | None:
        """The share of the possible gain that was reached, (after - before) / (1 - before); None where all were right
        before (Hake, Interactive-engagement versus traditional methods, American Journal of Physics 66, 1998)."""
        return None if self.before == 1 else (self.after - self.before) / (1 - self.before)

    @property
    def words(self) -> str:
        normalised = "" if self.normalised is None else f", a normalised gain of {self.normalised:.2f} (Hake 1998)"
        return (
            f"First vote {say.percent(self.before)} right, second vote {say.percent(self.after)} right{normalised}. Of "
            f"{say.count(self.both, 'learner')} who voted twice, {self.improved} went from wrong to right and "
            f"{self.worsened} from right to wrong."
        )


def gain(first: Sequence[RoundAnswer], second: Sequence[RoundAnswer]) -> Gain | None:
    """The gain from the first to the second vote; None where a vote has no graded answer."""
    before = {answer.player: bool(answer.right) for answer in first if answer.right is not None}
    after = {answer.player: bool(answer.right) for answer in second if answer.right is not None}
    if not before or not after:
        return None
    both = before.keys() & after.keys()
    return Gain(
        sum(before.values()) / len(before),
        sum(after.values()) / len(after),
        sum(after[player] and not before[player] for player in both),
        sum(before[player] and not after[player] for player in both),
        len(both),
    )
