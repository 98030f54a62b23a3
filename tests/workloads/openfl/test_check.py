"""What `workshop doctor` says where OpenFL isn't installed."""

from __future__ import annotations

from pathlib import Path

from workshop import registry
from workshop.extension import load


def test_without_openfl(workshop_home: Path) -> None:
    found = [load(reference)() for reference in registry.checks()]
    check = next(check for check in found if check.name == "OpenFL")
    assert not check.ok and not check.needed and "workshop federation install" in check.fix
