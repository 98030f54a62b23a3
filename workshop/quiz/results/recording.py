"""Checks that the results of a recording's rounds can be shown, because anybody may have written the recording."""

from __future__ import annotations

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.live.state import first_vote
from workshop.quiz.randomisation import ask, attempt_seed
from workshop.quiz.results import reader
from workshop.quiz.results.findings import find
from workshop.store.records import QuizRound
from workshop.store.store import Store


def check(store: Store, name: str) -> None:
    """Raises BadInput if a round of the recording `name` has impossible data. Rounds with a deck of another version are
    not checked; their pages say so."""
    for record in store.rounds():
        try:
            Deck.model_validate(record.deck)
        except ValueError:
            continue
        try:
            _check_answers(store, record)
            find(reader.read(store, record.id), None, anonymous=False)
        except BadInput:
            raise _damaged(name, record, "its results can't be computed") from None
        except _WrongType as error:
            raise _damaged(name, record, str(error)) from None
        except Exception:  # state, points and times may be of any type, and the page would fail in the same way
            raise _damaged(name, record, "its results can't be computed") from None


class _WrongType(Exception):
    """The answer is impossible for its question."""


def _check_answers(store: Store, record: QuizRound) -> None:
    deck = Deck.model_validate(record.deck)
    questions = {question.id: question for question in deck.questions}
    players = {player.id: player for player in store.players(record.id)}
    first_votes = {first_vote(id): question for id, question in questions.items()}
    for answer in store.answers(record.id):
        question = questions.get(answer.question) or first_votes.get(answer.question)
        if question is None or answer.player_id not in players:
            continue  # no page shows such an answer
        seed = record.seed if record.kind == "live" else attempt_seed(record, players[answer.player_id])
        if not question.accepts(ask(deck, question, seed), answer.answer):
            raise _WrongType(f"an answer to {answer.question} is none that this question can have")


def _damaged(name: str, record: QuizRound, why: str) -> BadInput:
    return BadInput(f"The recording {name} is damaged in quiz round {record.id}: {why}; get it once more.")
