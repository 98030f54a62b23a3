"""What a session's page says of its ranks: while a run computes on them, and when it has ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.report.analysis import cases
from tests.web import seed
from workshop.report.run_sections import SessionLook
from workshop.store.records import SessionRecord
from workshop.store.store import Store

RESTING = "Nothing runs now; these ranks wait."


@pytest.fixture
def session(store: Store) -> Iterator[SessionRecord]:
    """Two ranks on one unit."""
    with seed.alive(store, "class") as made:
        store.update_session(made.id, rank_map=cases.rank_map([0], [0]), machine=cases.machine(2))
        yield store.session(made.id)


def lines(store: Store) -> list[tuple[str, str]]:
    """What stands above the picture, each line with its tone."""
    made = json.loads(SessionLook(store, "class")()["machine"])["html"].partition('<div class="ws-frame"')[0]
    return [(text, tone) for tone, text in re.findall('<p class="ws-(.*?)">(.*?)</p>', made)]


def test_a_run_that_is_over_alarms_nobody(store: Store, session: SessionRecord) -> None:
    sharing = "Ranks 0 and 1 share hardware thread 0 of laptop: 2 threads."
    calm = (f"Oversubscribed when all compute: {sharing}", "about")
    assert lines(store) == [(RESTING, "about"), calm]
    run = seed.running(store, session)
    assert lines(store) == [(f"Oversubscribed: {sharing}", "alarm")]
    store.finish(run.id, "completed")
    own = store.run(run.id).rank_map
    store.set_run(run.id, rank_map={**own, "ranks": [{**rank, "threads": []} for rank in own["ranks"]]})
    store.update_session(session.id, state="ready", message="")
    assert lines(store) == [(f"Nothing runs now; run {run.id} had these ranks last.", "about"), calm]
