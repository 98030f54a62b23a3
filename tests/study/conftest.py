"""Studies measure: each test has a measuring lock of its own, so that others' measurements don't hold it up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.runtime.conftest import session
from tests.watchdog import temporary_folder

__all__ = ["session"]


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = temporary_folder("study")  # a short name: Open MPI's sockets lie below it
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)
