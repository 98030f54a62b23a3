"""A round's results from the store.

Players whom the instructor removed don't count, nor do questions that were skipped. Of somebody who started over alone
the first attempt counts, because right answers were shown since. Where that happened, notes say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from workshop.core import words as say
from workshop.core.errors import bad_input
from workshop.quiz import grading, placement_questions, text_input
from workshop.quiz.deck import Base, Deck, Number, Place, Predict, Text
from workshop.quiz.live.state import RoundState
from workshop.quiz.randomisation import DrawnQuestion, ask, attempt_seed
from workshop.quiz.results.record import Player, Results, RoundAnswer
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound
from workshop.store.store import Store

WAS = ("was", "were")


def read(store: Store, round_id: int) -> Results:
    """Raises BadInput where there is no such round."""
    return make(store.round(round_id), store.players(round_id), store.answers(round_id))


def make(this: QuizRound, players: Sequence[QuizPlayer], answers: Sequence[QuizAnswer]) -> Results:
    """The results of a round with these players and answers. Raises BadInput for a deck that can't be read any more."""
    try:
        deck, live = Deck.model_validate(this.deck), this.kind == "live"
    except ValidationError as error:
        raise bad_input(error, f"The deck of round {this.id} is of another version") from None
    state = RoundState.from_json(this.state) if live else None
    asked = _asked(deck, state)
    counted = {player.id: player for player in players if _counts(player)}
    kept = [one for one in answers if one.player_id in counted and one.question in asked]
    alike = {question.id: ask(deck, question, this.seed) for question in map(deck.question, asked)}
    # Alone, everybody has numbers of their own; a question without numbers is the same for all.
    shared = {id: one for id, one in alike.items() if live or not one.question.numbers}
    return Results(
        round=this.id,
        title=this.title,
        deck=deck,
        asked=asked,
        players=tuple(Player(one.id, one.nickname, one.identity_id) for one in counted.values()),
        answers=tuple(
            _answer(
                one,
                shared.get(one.question)
                or ask(deck, deck.question(one.question), attempt_seed(this, counted[one.player_id])),
            )
            for one in kept
        ),
        began=this.created_at,
        timed=live,
        absent=_absent(asked, kept, list(counted.values())) if live else {},
        numbers={id: one.numbers for id, one in shared.items() if one.numbers},
        truths=_truths(shared, state),
        notes=tuple(_notes(this, deck, players, state)),
    )


def _asked(deck: Deck, state: RoundState | None) -> tuple[str, ...]:
    ids = [question.id for question in deck.questions]
    if state is None:
        return tuple(ids)
    return tuple(id for id in ids[: state.position + 1] if id not in state.skipped)


def _counts(player: QuizPlayer) -> bool:
    return not player.removed and player.attempt == 1


def _answer(kept: QuizAnswer, asked: DrawnQuestion) -> RoundAnswer:
    poll = asked.question.type == "poll"
    return RoundAnswer(
        question=kept.question,
        player=kept.player_id,
        answer=kept.answer,
        seconds=kept.seconds,
        share=None if poll else kept.share,
        right=None if poll else kept.right,
        points=None if poll else kept.points,
        near=None if kept.right else _near(asked, kept.answer),
    )


def _near(asked: DrawnQuestion, answer: Any) -> int | None:
    """The number of the misconception that an answer shows; None: none that the deck knows."""
    near = getattr(asked.question, "near", ())
    return next((place for place, one in enumerate(near) if _hits(asked, one, answer)), None)


def _hits(asked: DrawnQuestion, near: Any, answer: Any) -> bool:
    question: Base = asked.question
    match question:
        case Number():
            value = grading.value_of(asked, near.answer)
            return grading.within(answer, value, near.tolerance or question.tolerance)
        case Text():
            return text_input.alike(answer) in map(text_input.alike, near.accept)
        case Place():
            # Equal placements only: others that come to the same would have to be asked of the mapper, each anew.
            return placement_questions.compose(question, near.placement) == placement_questions.compose(
                question, answer
            )
    return False


def _absent(
    asked: Sequence[str], kept: Sequence[QuizAnswer], players: Sequence[QuizPlayer]
) -> Mapping[str, frozenset[int]]:
    """Who joined after the last answer to a question, or to those before it, had arrived."""
    found, over = {}, 0.0
    for id in asked:
        over = max([over, *(one.received_at for one in kept if one.question == id)])
        if over:
            found[id] = frozenset(player.id for player in players if player.joined_at > over)
    return found


def _truths(shared: Mapping[str, DrawnQuestion], state: RoundState | None) -> dict[str, float]:
    """Right numbers that were the same for everybody."""
    found = {
        id: grading.value_of(one, one.question.answer) for id, one in shared.items() if isinstance(one.question, Number)
    }
    measured = state.truths if state is not None else {}
    for id, told in measured.items():
        value = told.get("value")
        if id in shared and isinstance(shared[id].question, Predict) and isinstance(value, int | float):
            found[id] = float(value)
    return found


def _notes(this: QuizRound, deck: Deck, players: Sequence[QuizPlayer], state: RoundState | None) -> Iterable[str]:
    if state is not None and state.phase != "ended":
        yield "The round is still going on, so that figures will change."
    if removed := sum(player.removed for player in players):
        yield f"{say.count(removed, 'player')} {say.verb(removed, *WAS)} removed by the instructor and not counted."
    if later := sum(player.attempt > 1 and not player.removed for player in players):
        told = f"{say.count(later, 'later attempt')} {say.verb(later, *WAS)} not counted"
        yield f"{told}: right answers had been shown before."
    if state is not None and state.skipped:
        places = [number for number, question in enumerate(deck.questions, 1) if question.id in state.skipped]
        yield f"{say.capital(say.numbered('question', places))} {say.verb(len(places), *WAS)} skipped and not counted."
    if this.settings.get("speed_bonus"):
        yield "Points of learners include a bonus for speed; marks and discrimination don't."
