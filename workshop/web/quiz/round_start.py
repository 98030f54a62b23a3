"""Beginning a round, with a code of its own, from a deck that ships or a file; and ending it."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from workshop.core.errors import BadInput
from workshop.quiz import live
from workshop.quiz.deck import Deck
from workshop.quiz.live import RoundState
from workshop.store.records import Identity, QuizRound
from workshop.store.store import Store
from workshop.web.actions import only_instructor
from workshop.web.auth import new_code
from workshop.web.quiz import measurement


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
    `folder` is where the deck's pictures are; `session` is where questions are measured (default: the newest one that
    is up then)."""
    return store.add_round(
        "live",
        deck.model_dump(mode="json"),
        code=new_code(),
        seed=secrets.token_hex(8),
        deck_folder=str(folder),
        session=session,
        settings={"speed_bonus": speed_bonus, "ranking": ranking, "vote_twice": vote_twice},
        state=RoundState().as_json(),
    )


def end_round(store: Store, identity: Identity, round_id: int) -> None:
    """End a live round in the store, which its room follows; what was answered stays. Raises BadInput for learners, and
    where the round has ended already."""
    only_instructor(identity)
    record = store.round(round_id)
    if record.kind != "live":
        raise BadInput(f"Quiz round {round_id} is not a live one; it ends with its last answer.")
    former = RoundState.from_json(record.state)
    store.set_round_state(round_id, live.end(former).as_json(), ended=True, former=former.version)
    measurement.cancel(store, former.runs)


def links(address: str, record: QuizRound) -> dict[str, Any]:
    """Where a round is joined, hosted and shown, under the address of a dashboard."""
    return {
        "join": f"{address}/quiz?{urlencode({'code': record.code or ''})}",
        "host": f"{address}/quiz/{record.id}/host",
        "projector": f"{address}/quiz/{record.id}/projector",
    }
