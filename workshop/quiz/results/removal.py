"""Removing somebody's data from a round: answers, name in the round, and the name by which they came in for a quiz."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.store.records import QuizPlayer
from workshop.store.store import Store


def forget(store: Store, players: Sequence[QuizPlayer]) -> int:
    """Remove these players; returns how many answers there were. Who came in for quizzes only, and is in no round any
    more, loses their name in the list of visitors, too."""
    gone = sum(store.forget_player(player.id) for player in players)
    for identity_id in {player.identity_id for player in players} - {None}:
        if not store.players(identity_id=identity_id):
            gone += store.forget_identity(identity_id)
    return gone
