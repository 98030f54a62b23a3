"""A store with a session that nobody runs: what commands read is written there by the tests."""

from __future__ import annotations

import pytest

from tests.web import seed as class_seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)
