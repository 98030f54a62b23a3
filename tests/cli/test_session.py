"""`workshop session` where a notebook has the ranks."""

from __future__ import annotations

import pytest

from tests.cli.test_cli import answer, workshop
from tests.server import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store


@pytest.mark.real
def test_a_notebook_s_hold_is_shown_and_taken_back(store: Store) -> None:
    with seed.alive(store, "class") as session:
        _shown_and_taken_back(store, session)


def _shown_and_taken_back(store: Store, session: SessionRecord) -> None:
    ended = workshop("session", "reclaim", "class")
    assert ended.returncode == 2 and "No notebook has the ranks of session class; it is ready." in ended.stderr

    ada, _ = (store.ask_lease(session.id, f"{name}'s [notebook]", "host", 7, 1.0) for name in ("ada", "bob"))
    store.hold_lease(ada.id)
    store.update_session(session.id, state="leased", message="ada's [notebook] has the ranks")
    shown = workshop("session", "show", "class").stdout
    assert "leased" in shown
    assert "  ada's [notebook] has the ranks\n  bob's [notebook] waits for the ranks\n" in shown
    told = answer("session", "show", "class")
    assert told["state"] == "leased"
    assert [(lease["holder"], lease["state"]) for lease in told["leases"]] == [
        ("ada's [notebook]", "held"),
        ("bob's [notebook]", "wanted"),
    ]

    ended = workshop("session", "reclaim", "class")
    assert ended.returncode == 0, ended.stderr
    said = " ".join(ended.stderr.split())
    assert said == "The ranks of session class are taken back from ada's [notebook], bob's [notebook]."
    assert store.leases(session.id) == []
