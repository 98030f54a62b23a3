"""Where the state is."""

from __future__ import annotations

from pathlib import Path

import pytest

from workshop.core import config


def test_a_state_folder_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path / "not" / "there yet"))
    assert config.home() == tmp_path / "not" / "there yet"
    assert config.home().stat().st_mode & 0o777 == 0o700
