"""Rounds of a recording, which anybody may have written: whether their results can be shown."""

from __future__ import annotations

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.question_view import is_one
from workshop.quiz.randomisation import ask, attempt_seed
from workshop.quiz.results import reader
from workshop.quiz.results.findings import find
from workshop.store.records import QuizRound
from workshop.store.store import Store


def check(store: Store, name: str) -> None:
    """Raises BadInput where a round of the recording `name` holds something that no round can have kept. Rounds with a
    deck of another version are left alone: their pages say so."""
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
        except Exception:  # state, points and times may be of any type; whatever fails on them would fail on its page
            raise _damaged(name, record, "its results can't be computed") from None


class _WrongType(Exception):
    """An answer that its question can't have."""


def _check_answers(store: Store, record: QuizRound) -> None:
    deck = Deck.model_validate(record.deck)
    known = {question.id: question for question in deck.questions}
    players = {player.id: player for player in store.players(record.id)}
    for one in store.answers(record.id):
        if one.question not in known or one.player_id not in players:
            continue  # nothing shows it
        seed = record.seed if record.kind == "live" else attempt_seed(record, players[one.player_id])
        if not is_one(ask(deck, known[one.question], seed), one.answer):
            raise _WrongType(f"an answer to {one.question} is none that this question can have")


def _damaged(name: str, record: QuizRound, why: str) -> BadInput:
    return BadInput(f"The recording {name} is damaged in quiz round {record.id}: {why}; get it once more.")
