"""OpenFL's environment for tests: installed once, into the state folder beside the environment's packages, and linked
into the state folders of the tests that use it. `.ci/run` installs it there beforehand; nobody else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mpis import HOME, share
from tests.support import need
from workshop.workloads.openfl import environment

PLACE = "cache/federation"


def python() -> Path:
    """Its Python; skips the test where it isn't installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(HOME))
        found = environment.installed()
    need(found, f"OpenFL: run WORKSHOP_HOME={HOME} workshop federation install")
    assert found is not None
    return found


def use(home: Path) -> Path:
    """Have it installed in a test's state folder; returns its Python."""
    python()
    share(home, PLACE)
    found = environment.installed()
    assert found is not None
    return found
