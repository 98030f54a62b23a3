"""Locks on files: one at a time, within a limit."""

from __future__ import annotations

import time
from pathlib import Path

from workshop.core.processes import lock


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "a") as other:
        with open(tmp_path / "lock", "a") as mine:
            assert lock(mine, time.monotonic())
            assert not lock(other, time.monotonic() + 0.2)
        assert lock(other, time.monotonic())
