"""Reads a round's results from the store, checks the rounds of a recording, and removes a learner's data.

Removed players and skipped questions don't count. In self-study only the first attempt counts, because it shows the
right answers. Notes in the results say what was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from workshop.core import words as say
from workshop.core.errors import BadInput, bad_input
from workshop.quiz.deck import Deck
from workshop.quiz.live.state import RoundState, first_vote
from workshop.quiz.randomisation import DrawnQuestion, ask, attempt_seed
from workshop.quiz.results.findings import find
from workshop.quiz.results.record import Player, Results, RoundAnswer
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
        players=tuple(Player(player.id, player.nickname, player.identity_id) for player in counted.values()),
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
        timed=live,
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
    values = {
        id: variant.question.right_value(variant, measured.get(id, {}).get("value")) for id, variant in shared.items()
    }
    return {id: value for id, value in values.items() if value is not None}


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


def check_recording(store: Store, name: str) -> None:
    """Raises BadInput if a round of the recording `name` has impossible data: anybody may have written the recording.
    Rounds with a deck of another version are not checked; their pages say so."""
    for record in store.rounds():
        try:
            deck = Deck.model_validate(record.deck)
        except ValueError:
            continue
        try:
            problem = _impossible_answer(store, record, deck)
            if not problem:
                find(read(store, record.id))
        except Exception:  # state, points and times may be of any type, and the page would fail in the same way
            problem = "its results can't be computed"
        if problem:
            raise BadInput(f"The recording {name} is damaged in quiz round {record.id}: {problem}; get it once more.")


def _impossible_answer(store: Store, record: QuizRound, deck: Deck) -> str:
    """Say which question has an answer that it can't have; "" where none has."""
    questions = {question.id: question for question in deck.questions}
    players = {player.id: player for player in store.players(record.id)}
    first_votes = {first_vote(id): question for id, question in questions.items()}
    for answer in store.answers(record.id):
        question = questions.get(answer.question) or first_votes.get(answer.question)
        if question is None or answer.player_id not in players:
            continue  # no page shows such an answer
        seed = record.seed if record.kind == "live" else attempt_seed(record, players[answer.player_id])
        if not question.accepts(ask(deck, question, seed), answer.answer):
            return f"an answer to {answer.question} is none that this question can have"
    return ""


def forget(store: Store, players: Sequence[QuizPlayer]) -> int:
    """Remove these players, and return the number of their answers. The identity of a visitor who came only for
    quizzes is removed as well, if it is in no round any more."""
    gone = sum(store.forget_player(player.id) for player in players)
    for identity_id in {player.identity_id for player in players if player.identity_id is not None}:
        if not store.players(identity_id=identity_id):
            gone += store.forget_identity(identity_id)
    return gone
