"""Studies measure: each test has a measuring lock of its own, so that others' measurements don't hold it up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.runtime.conftest import session
from tests.watchdog import temporary_folder
from workshop.cli.main import run

__all__ = ["session"]


class Ended(NamedTuple):
    """How a command has ended, and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `workshop` with these words in this process, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *words: Ended(run(list(words)), *capsys.readouterr())


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = temporary_folder("study")  # a short name: Open MPI's sockets lie below it
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)
