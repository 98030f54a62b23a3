"""A session for the tests of what is shown of runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store


@pytest.fixture
def session(store: Store) -> Iterator[SessionRecord]:
    with seed.alive(store, "class") as made:
        yield made
