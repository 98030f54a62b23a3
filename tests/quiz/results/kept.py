"""Rounds in a store, as they are there once somebody has played them."""

from __future__ import annotations

import time
from dataclasses import replace

from workshop.quiz.live import RoundState
from workshop.quiz.results.record import Results
from workshop.store.records import Identity, QuizAnswer, QuizRound
from workshop.store.store import Store


def keep(store: Store, results: Results, people: dict[str, Identity] | None = None) -> QuizRound:
    """Play the answers of these results in a live round that has ended; `people` are those with an identity."""
    deck = results.deck
    this = store.add_round("live", deck.model_dump(mode="json"), code="ABCDEF", seed="seed")
    now = time.time()
    ids = {}
    for player in results.players:
        identity = (people or {}).get(player.nickname)
        ids[player.id] = store.add_player(this.id, identity.id if identity else None, player.nickname).id
    answers = [
        QuizAnswer(
            this.id,
            one.question,
            ids[one.player],
            "",
            one.answer,
            now + 60,
            one.seconds,
            one.share or 0.0,
            one.right,
            one.points or 0.0,
        )
        for one in results.answers
    ]
    assert all(store.keep_answers(answers))
    end(store, this, len(deck.questions))
    return store.round(this.id)


def end(store: Store, this: QuizRound, questions: int, **more: object) -> None:
    state = replace(RoundState(phase="ended", position=questions - 1), **more)
    store.set_round_state(this.id, state.as_json(), ended=True)
