"""Bounds and kinds that widgets take from fields."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload


@pytest.fixture
def fields(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.syspath_prepend(str(config.app_folder()))
    from parts import fields as module

    yield module
    sys.modules.pop("parts.fields", None)


def test_numbers_have_their_bounds(fields) -> None:
    of = workload("kmeans").params.model_fields
    assert fields._bounds(of["clusters"]) == (1, 4096)
    assert fields._bounds(of["pace"]) == (0, 10)
    assert fields._bounds(Placement.model_fields["threads"]) == (1, 1024)


def test_kinds(fields) -> None:
    assert fields._kind(Placement.model_fields["threads"].annotation) == (int, True)
    assert fields._kind(Placement.model_fields["ranks"].annotation) == (int, False)


def test_lines_become_a_mapping(fields) -> None:
    assert fields._mapping("A=1\n\n B = x=y \n", "Environment") == {"A": "1", "B": "x=y"}
    with pytest.raises(BadInput, match="NAME=value"):
        fields._mapping("A", "Environment")
