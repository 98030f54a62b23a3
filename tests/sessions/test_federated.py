"""Federations in a session: live by round, ended in the middle of one, and those that go wrong on purpose."""

from __future__ import annotations

import os
import signal

import pytest

from tests.live_session import Session
from tests.support import until
from workshop.sessions import client

pytestmark = pytest.mark.real
SMALL = {"data": "digits", "images": 300, "model": "dense", "partition": "label"}
ENDLESS = {**SMALL, "rounds": 10_000}
ROUND_WITHOUT_END = {**SMALL, "rounds": 2, "epochs": 1000, "batch": 1}


def rounds(session: Session, run_id: int, event: str = "held-out accuracy") -> list[int]:
    """The rounds of which a run has told so far."""
    found = session.store.series(run_id, event)
    return list(found[0].steps) if found else []


def test_a_federation_lives_by_rounds_and_ends_within_one(session: Session) -> None:
    whole = session.wait(session.submit("federated", **SMALL, institutions=5, rounds=2, way="all"), 120)
    assert whole.status == "completed", whole.error
    assert [one["rank"] for one in whole.metrics["institutions"]] == [0, 1, 0, 1, 0], "several on a rank"
    assert rounds(session, whole.id) == rounds(session, whole.id, "institution 5 own accuracy") == [1, 2]
    told = {event.name for event in session.store.events(whole.id, rank=0)}
    assert {"drift", "bytes up", "alone own accuracy", "centralised held-out accuracy"} <= told
    assert whole.metrics["by_way"]["federated"]["held_out_score"] == whole.metrics["held_out_accuracy"]

    live = session.submit("federated", **ENDLESS)
    until(lambda: len(rounds(session, live.id)) >= 3, 60, "three rounds of a run that goes on")
    assert session.store.run(live.id).status == "running"
    client.cancel(session.store, live.id)
    ended = session.wait(live)
    assert ended.status == "cancelled"
    assert ended.metrics["stopped"] and ended.metrics["rounds"] == rounds(session, live.id)[-1] >= 3

    deaf = session.submit("federated", **ROUND_WITHOUT_END)
    until(lambda: session.store.run(deaf.id).metrics, 60, "the beginning of a round without end")
    client.cancel(session.store, deaf.id)  # which doesn't wait for the round to end
    assert session.wait(deaf).status == "cancelled"
    assert rounds(session, deaf.id) == []

    killed = session.submit("federated", **ENDLESS)
    until(lambda: len(rounds(session, killed.id)) >= 2, 60, "two rounds")
    os.kill(session.now.rank_map["ranks"][1]["pid"], signal.SIGKILL)
    failed = session.wait(killed, 30)
    assert (failed.status, failed.error["type"], failed.error["rank"]) == ("failed", "RankDied", 1)
    assert "SIGKILL" in failed.error["message"]
    assert len(failed.metrics["institutions"]) == 4, "what was known when it began"
    following = session.wait(session.submit("federated", **SMALL, rounds=1), 60)
    assert following.status == "completed", following.error
