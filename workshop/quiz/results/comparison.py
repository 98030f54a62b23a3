"""Compares two rounds with common questions, for the learners who took part in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workshop.core import words as say
from workshop.quiz.results.items import sign_test
from workshop.quiz.results.record import Results
from workshop.quiz.types.rows import plain

DOUBT = 0.05


@dataclass(frozen=True)
class QuestionChange:
    """One question, for the learners who answered it in both rounds."""

    id: str
    text: str
    of: int  # learners
    before: int  # right
    after: int
    gained: int  # wrong before, right after
    lost: int
    chance: float | None  # p-value of the exact sign test; None if nobody changed
    words: str

    @property
    def change(self) -> float | None:
        """The change of the share of right answers."""
        return (self.after - self.before) / self.of if self.of else None


@dataclass(frozen=True)
class RoundComparison:
    before: int  # rounds
    after: int
    both: int  # learners who took part in both
    changes: tuple[QuestionChange, ...]
    notes: tuple[str, ...]


def compare(before: Results, after: Results) -> RoundComparison:
    """Compare two rounds. Learners are matched by identity, because different people may use the same nickname."""
    earlier = {player.identity_id: player.id for player in before.players if player.identity_id is not None}
    pairs = {player.id: earlier[player.identity_id] for player in after.players if player.identity_id in earlier}
    common = [id for id in after.question_ids if id in before.question_ids and after.deck.question(id).marked]
    changes = tuple(_change(before, after, id, pairs) for id in common)
    return RoundComparison(before.round, after.round, len(pairs), changes, tuple(_notes(before, after, common, pairs)))


def _change(before: Results, after: Results, id: str, pairs: Mapping[int, int]) -> QuestionChange:
    def right(results: Results, player: int) -> bool | None:
        answer = results.answers_by(player).get(id)
        return None if answer is None else answer.right

    both = [(right(before, earlier), right(after, later)) for later, earlier in pairs.items()]
    answered = [(first, second) for first, second in both if first is not None and second is not None]
    gained = sum(second and not first for first, second in answered)
    lost = sum(first and not second for first, second in answered)
    chance = sign_test(gained, lost) if gained + lost else None
    text = plain(after, after.deck.question(id), after.deck.question(id).text)
    return QuestionChange(
        id=id,
        text=text,
        of=len(answered),
        before=sum(bool(first) for first, _ in answered),
        after=sum(bool(second) for _, second in answered),
        gained=gained,
        lost=lost,
        chance=chance,
        words=_words(len(answered), gained, lost, chance),
    )


def _words(learners: int, gained: int, lost: int, chance: float | None) -> str:
    if not learners:
        return "Nobody answered it in both rounds."
    if chance is None:
        return (
            f"The same for all {learners} who answered it in both rounds."
            if learners > 1
            else "The same for the one who did both."
        )
    sure = "more than chance alone does" if chance < DOUBT else "chance alone may do that"
    return f"{gained} got it right that hadn't before, {lost} the other way round: {sure}."


def _notes(before: Results, after: Results, common: list[str], pairs: Mapping[int, int]) -> Iterable[str]:
    if not common:
        yield "The two rounds have no question in common."
    if not pairs:
        yield "Nobody took part in both rounds, so that nothing can be said of a change."
    elif len(pairs) < len(after.players):
        left_out = len(after.players) - len(pairs)
        yield f"{say.count(left_out, 'learner')} took part in the later round only and {say.verb(left_out)} left out."
    changed = [id for id in common if before.deck.question(id) != after.deck.question(id)]
    if changed:
        yield f"Written differently in the two rounds: {say.listed(changed)}."
