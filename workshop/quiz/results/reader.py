"""Reads a round's results from the store.

Removed players and skipped questions don't count. In self-study only the first attempt counts, because it shows the
right answers. Notes in the results say what was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from workshop.core import words as say
from workshop.core.errors import bad_input
from workshop.quiz.deck import Deck, ask, attempt_seed
from workshop.quiz.live.state import RoundState, first_vote
from workshop.quiz.results.record import Player, Results, RoundAnswer
from workshop.quiz.types import DrawnQuestion
from workshop.quiz.types.number import Number, value_of
from workshop.store.records import QuizAnswer, QuizPlayer, QuizRound
from workshop.store.store import Store

WAS = ("was", "were")


def read(store: Store, round_id: int) -> Results:
    """The results of a round. Raises BadInput if there is no such round."""
    return make(store.round(round_id), store.players(round_id), store.answers(round_id))


def make(quiz_round: QuizRound, players: Sequence[QuizPlayer], answers: Sequence[QuizAnswer]) -> Results:
    """The results of a round with these players and answers. Raises BadInput if its deck can't be read any more."""
    try:
        deck, live = Deck.model_validate(quiz_round.deck), quiz_round.kind == "live"
    except ValidationError as error:
        raise bad_input(error, f"The deck of round {quiz_round.id} is of another version") from None
    state = RoundState.from_json(quiz_round.state) if live else None
    question_ids = _question_ids(deck, state)
    counted = {player.id: player for player in players if not player.removed and player.attempt == 1}
    counted_answers = [answer for answer in answers if answer.player_id in counted and answer.question in question_ids]
    first_votes = {first_vote(id): id for id in question_ids}
    variants = {question.id: ask(deck, question, quiz_round.seed) for question in map(deck.question, question_ids)}
    # In self-study, everybody has other numbers; only questions without numbers are the same for all.
    shared = {id: variant for id, variant in variants.items() if live or not variant.question.numbers}
    return Results(
        round=quiz_round.id,
        title=quiz_round.title,
        deck=deck,
        question_ids=question_ids,
        players=tuple(Player(player.id, player.nickname) for player in counted.values()),
        answers=tuple(
            _answer(
                answer,
                shared.get(answer.question)
                or ask(deck, deck.question(answer.question), attempt_seed(quiz_round, counted[answer.player_id])),
            )
            for answer in counted_answers
        ),
        first_votes=tuple(
            _answer(replace(answer, question=first_votes[answer.question]), shared[first_votes[answer.question]])
            for answer in answers
            if answer.player_id in counted and answer.question in first_votes
        ),
        began=quiz_round.created_at,
        absent=_absent(question_ids, counted_answers, list(counted.values())) if live else {},
        numbers={id: variant.numbers for id, variant in shared.items() if variant.numbers},
        truths=_truths(shared, state),
        notes=tuple(_notes(quiz_round, deck, players, state)),
    )


def _question_ids(deck: Deck, state: RoundState | None) -> tuple[str, ...]:
    ids = [question.id for question in deck.questions]
    if state is None:
        return tuple(ids)
    return tuple(id for id in ids[: state.position + 1] if id not in state.skipped)


def _answer(record: QuizAnswer, variant: DrawnQuestion) -> RoundAnswer:
    """An answer with its mark, and the number of the deck's misconception that it shows."""
    question = variant.question
    marked = (record.share, record.right, record.points) if question.marked else (None, None, None)
    nears = [] if record.right else getattr(question, "near", ())
    near = next((place for place, near in enumerate(nears) if question.hits(variant, near, record.answer)), None)
    return RoundAnswer(record.question, record.player_id, record.answer, record.seconds, *marked, near)


def _absent(
    question_ids: Sequence[str], answers: Sequence[QuizAnswer], players: Sequence[QuizPlayer]
) -> Mapping[str, frozenset[int]]:
    """For each question the players who joined after its last answer, or the last answer to earlier questions."""
    absent, over = {}, 0.0
    for id in question_ids:
        over = max([over, *(answer.received_at for answer in answers if answer.question == id)])
        if over:
            absent[id] = frozenset(player.id for player in players if player.joined_at > over)
    return absent


def _truths(shared: Mapping[str, DrawnQuestion], state: RoundState | None) -> dict[str, float]:
    """The right numbers of the questions that were the same for everybody."""
    measured = {} if state is None else state.truths
    computed = {
        id: value_of(variant.question.answer, variant.numbers)
        for id, variant in shared.items()
        if isinstance(variant.question, Number)
    }
    return computed | {id: float(truth["value"]) for id, truth in measured.items() if id in shared}


def _notes(quiz_round: QuizRound, deck: Deck, players: Sequence[QuizPlayer], state: RoundState | None) -> Iterable[str]:
    if state is not None and state.phase != "ended":
        yield "The round is still going on, so that figures will change."
    if removed := sum(player.removed for player in players):
        yield f"{say.count(removed, 'player')} {say.verb(removed, *WAS)} removed by the instructor and not counted."
    if later := sum(player.attempt > 1 and not player.removed for player in players):
        sentence = f"{say.count(later, 'later attempt')} {say.verb(later, *WAS)} not counted"
        yield f"{sentence}: right answers had been shown before."
    if state is not None and state.skipped:
        places = [number for number, question in enumerate(deck.questions, 1) if question.id in state.skipped]
        yield f"{say.capital(say.numbered('question', places))} {say.verb(len(places), *WAS)} skipped and not counted."
    twice = set() if state is None else set(state.voted_twice) - set(state.skipped)
    if twice:
        places = [number for number, question in enumerate(deck.questions, 1) if question.id in twice]
        sentence = f"{say.capital(say.numbered('question', places))} had two votes"
        yield f"{sentence}; marks and points are those of the second vote."
    if quiz_round.settings.get("speed_bonus"):
        yield "Points of learners include a bonus for speed; marks and discrimination don't."
