"""Waiting for a run, where its session's conductor is slow."""

from __future__ import annotations

import pytest

from tests.web import seed
from workshop.core.errors import WorkshopError
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def test_a_conductor_that_goes_on_meanwhile_has_not_lost_its_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session = seed.session(store, "class")
    run = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT)
    store.take_next(session.id)
    store.update_session(session.id, heartbeat_at=0.0)
    assert store.run(run.id).status == "interrupted", "for a while"
    asked: list[SessionRecord] = []

    def goes_on(record: SessionRecord) -> bool:
        asked.append(record)
        store.heartbeat(session.id)
        return False

    monkeypatch.setattr(client, "has_conductor", goes_on)
    with pytest.raises(WorkshopError, match="has not ended"):
        client.wait(store, run.id, timeout=1)
    assert len(asked) == 1 and store.run(run.id).status == "running"
