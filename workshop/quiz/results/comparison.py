"""Two rounds with questions in common, before and after: what changed for those who took part in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workshop.core import words as say
from workshop.quiz.results.answer_choices import plain
from workshop.quiz.results.record import Results
from workshop.quiz.results.statistics import sign_test

DOUBT = 0.05


@dataclass(frozen=True)
class QuestionChange:
    """One question, for those who answered it in both rounds."""

    id: str
    text: str
    of: int  # learners
    before: int  # right
    after: int
    gained: int  # wrong before, right after
    lost: int
    chance: float | None  # how often chance alone changes as much (exact sign test); None where nobody changed
    words: str

    @property
    def change(self) -> float | None:
        """Of the share right."""
        return (self.after - self.before) / self.of if self.of else None


@dataclass(frozen=True)
class RoundComparison:
    before: int  # rounds
    after: int
    both: int  # learners who took part in both
    changes: tuple[QuestionChange, ...]
    notes: tuple[str, ...]


def compare(before: Results, after: Results) -> RoundComparison:
    """Learners are the same where their identity is; a nickname alone could be somebody else's."""
    earlier = {player.identity_id: player.id for player in before.players if player.identity_id is not None}
    pairs = {player.id: earlier[player.identity_id] for player in after.players if player.identity_id in earlier}
    common = [id for id in after.asked if id in before.asked and after.deck.question(id).type != "poll"]
    changes = tuple(_change(before, after, id, pairs) for id in common)
    return RoundComparison(before.round, after.round, len(pairs), changes, tuple(_notes(before, after, common, pairs)))


def _change(before: Results, after: Results, id: str, pairs: Mapping[int, int]) -> QuestionChange:
    def right(results: Results, player: int) -> bool | None:
        answer = results.by(player).get(id)
        return None if answer is None else answer.right

    both = [(right(before, earlier), right(after, later)) for later, earlier in pairs.items()]
    known = [(first, second) for first, second in both if first is not None and second is not None]
    gained = sum(second and not first for first, second in known)
    lost = sum(first and not second for first, second in known)
    chance = sign_test(gained, lost) if gained + lost else None
    text = plain(after, after.deck.question(id), after.deck.question(id).text)
    return QuestionChange(
        id=id,
        text=text,
        of=len(known),
        before=sum(bool(first) for first, _ in known),
        after=sum(bool(second) for _, second in known),
        gained=gained,
        lost=lost,
        chance=chance,
        words=_words(len(known), gained, lost, chance),
    )


def _words(of: int, gained: int, lost: int, chance: float | None) -> str:
    if not of:
        return "Nobody answered it in both rounds."
    if chance is None:
        return (
            f"The same for all {of} who answered it in both rounds." if of > 1 else "The same for the one who did both."
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
