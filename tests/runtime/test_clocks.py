"""Clocks of other hosts: their offset is estimated, and taken out of what their ranks tell."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.engine.reporter import Reporter
from workshop.runtime import clocks
from workshop.runtime.channel import Channel
from workshop.store.store import Store

moments = st.floats(0, 1e6)
trips = st.floats(1e-5, 1.0)


@given(moments, st.floats(-1e4, 1e4), st.lists(st.tuples(trips, st.floats(0, 1)), min_size=1, max_size=8))
@settings(max_examples=100)
def test_the_offset_is_within_what_it_says(start: float, ahead: float, questions: list[tuple[float, float]]) -> None:
    samples = []
    for trip, share in questions:  # the other clock is read after some share of the round trip
        samples.append(clocks.Sample(start, start + trip * share + ahead, start + trip))
        start += trip
    found = clocks.offset(samples)
    assert abs(found.seconds - ahead) <= found.within + 1e-6
    assert found.within == pytest.approx(min(trip for trip, _ in questions) / 2, abs=1e-6)


def test_events_of_a_host_whose_clock_is_ahead_are_stored_by_ours(workshop_home: Path, tmp_path: Path) -> None:
    with Store.open() as store:
        store.create_session("s", {})
        run = store.submit(1, "tell", {}, {}).id
        channel = Channel(store, tmp_path / "channel.json", clocks={socket.gethostname(): 100.0, "another": 5.0})
        rank = Reporter(json.loads(channel.file.read_text()), 0)
        rank.begin(run)
        rank.emit("value", 1.0, 3, 1_000_100.5)
        rank.end({"kind": "finished", "metrics": {}})
        (event,) = store.events(run)
        rank.close()
        channel.close()
    assert (event.time, event.step, event.value) == (1_000_000.5, 3, 1.0)
