"""Limits that grow with the load of a machine."""

from __future__ import annotations

from workshop.core.patience import MOST_PATIENCE, patient


def test_limits_grow_with_the_load() -> None:
    assert patient(10, load=0.1, cores=2) == 10
    assert patient(10, load=6, cores=2) == 30
    assert patient(10, load=1000, cores=2) == 10 * MOST_PATIENCE
    assert 10 <= patient(10) <= 10 * MOST_PATIENCE
