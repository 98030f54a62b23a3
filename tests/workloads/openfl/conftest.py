"""Federations that several files look at: they take minutes, so they are run once (see tests/conftest.py, SHARING)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import openfl
from tests.ranks import run_ranks
from tests.support import starts_processes
from tests.web import seed as class_seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store

PROGRAM = "tests.workloads.openfl.program"


@pytest.fixture(scope="module")
@starts_processes
def federations() -> dict[str, Any]:
    """One in which all is well, the same on our own rank, and one that is stopped."""
    openfl.python()
    return run_ranks(PROGRAM, 2, "none", "ours", "stopped", seconds=900)


@pytest.fixture(scope="module")
@starts_processes
def lesions() -> dict[str, Any]:
    """One that outlines lesions, and the same on our own rank."""
    openfl.python()
    return run_ranks(PROGRAM, 2, "lesions", seconds=600)["lesions"]


@pytest.fixture(scope="module")
@starts_processes
def faults() -> dict[str, Any]:
    """In each of these something goes wrong on purpose."""
    openfl.python()
    return run_ranks(PROGRAM, 2, "foreign-certificate", "dies", seconds=900)


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)
