"""Beginning a round: with a code of its own, from a deck that ships or a file."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from workshop.quiz.deck import Deck
from workshop.quiz.live.state import RoundState
from workshop.store.records import QuizRound
from workshop.store.store import Store
from workshop.web.auth import CODE_LENGTH, LETTERS


def host(
    store: Store,
    deck: Deck,
    folder: Path | str = "",
    *,
    session: str = "",
    speed_bonus: bool = False,
    ranking: bool = True,
    vote_twice: bool = False,
) -> QuizRound:
    """A new live round, in its lobby. With `vote_twice`, learners may talk and vote again before they see the votes.
    `folder` is where the deck's pictures are; `session` is where questions are
    measured (default: the newest one that is up then)."""
    return store.add_round(
        "live",
        deck.model_dump(mode="json"),
        code="".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH)),  # one of a billion
        seed=secrets.token_hex(8),
        deck_folder=str(folder),
        session=session,
        settings={"speed_bonus": speed_bonus, "ranking": ranking, "vote_twice": vote_twice},
        state=RoundState().as_json(),
    )


def links(address: str, record: QuizRound) -> dict[str, Any]:
    """Where a round is joined, hosted and shown, under the address of a dashboard."""
    return {
        "join": f"{address}/quiz?{urlencode({'code': record.code or ''})}",
        "host": f"{address}/quiz/{record.id}/host",
        "projector": f"{address}/quiz/{record.id}/projector",
    }
