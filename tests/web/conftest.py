"""One dashboard for the tests of a module, on a store of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.dashboard import served
from tests.conftest import leftovers
from tests.support import starts_processes
from tests.web import seed
from tests.web.dashboard import Dashboard
from workshop.store.records import SessionRecord
from workshop.store.store import Store


@pytest.fixture(scope="module")
@starts_processes
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    home = tmp_path_factory.mktemp("dashboard") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        with Store.open() as store, served() as (process, port):
            yield Dashboard(store, process, port)
        assert not leftovers(home)


@pytest.fixture
def session(store: Store) -> Iterator[SessionRecord]:
    with seed.alive(store, "class") as made:
        yield made
