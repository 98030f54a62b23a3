"""Every store test runs against SQLite and against a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import Server, server
from tests.support import starts_processes
from workshop.store.store import Store


@pytest.fixture(scope="session")
@starts_processes
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.real)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'workshop.db'}"
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened
