"""Limits that grow with the load of a machine."""

from __future__ import annotations

import os

import pytest

from workshop.core.patience import MOST_PATIENCE, patient


@pytest.mark.parametrize(("load", "limit"), [(0.1, 10), (6, 30), (1000, 10 * MOST_PATIENCE)])
def test_limits_grow_with_the_load(load: float, limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert patient(10) == limit
