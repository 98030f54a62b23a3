"""Removes a learner's data from a round: answers, the name in the round, and the name of a visitor."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.store.records import QuizPlayer
from workshop.store.store import Store


def forget(store: Store, players: Sequence[QuizPlayer]) -> int:
    """Remove these players, and return the number of their answers. The identity of a visitor who came only for
    quizzes is removed as well, if it is in no round any more."""
    gone = sum(store.forget_player(player.id) for player in players)
    for identity_id in {player.identity_id for player in players if player.identity_id is not None}:
        if not store.players(identity_id=identity_id):
            gone += store.forget_identity(identity_id)
    return gone
