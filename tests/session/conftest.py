"""A session of two ranks for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions import Session
from workshop.placement import Placement
from workshop.session import lifecycle
from workshop.store.store import Store


@pytest.fixture
def session(workshop_home: Path, probe_workloads: None) -> Iterator[Session]:
    store = Store.open()
    record, conductor = lifecycle.start_session(store, "test", Placement(ranks=2))
    ready = lifecycle.wait_ready(store, record, conductor)
    yield Session(store, ready, workshop_home)
    lifecycle.stop_session(store, "test")
    conductor.wait(10)
    store.close()
