"""Fixtures for every test: state in a temporary folder, never the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def workshop_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own; processes that the test starts inherit it."""
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WORKSHOP_DATABASE_URL", raising=False)
    return tmp_path / "home"
