"""A class's session that is up, and a notebook that is attached to it: started once for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.notebook.kernel import Kernel, kernel
from tests.notebook.sessions import DASHBOARD, running, state
from tests.support import starts_processes
from workshop.store.records import SessionRecord
from workshop.store.store import Store


@pytest.fixture(scope="module")
def class_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with state(tmp_path_factory.mktemp("class")), Store.open() as opened:
        yield opened


@pytest.fixture(scope="module")
@starts_processes
def class_session(class_store: Store) -> Iterator[SessionRecord]:
    with running(class_store) as record:
        yield record


@pytest.fixture(scope="module")
@starts_processes
def class_notebook(class_session: SessionRecord) -> Iterator[Kernel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_DASHBOARD", DASHBOARD)
        with kernel() as started:
            started.run("import workshop\nsession = workshop.attach()")
            yield started
