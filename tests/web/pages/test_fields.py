"""Bounds and kinds that widgets take from fields."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.web.pages import fields


def test_numbers_have_their_bounds() -> None:
    of = workload("kmeans").params.model_fields
    assert fields._bounds(of["clusters"]) == (1, 4096)
    assert fields._bounds(of["pace"]) == (0, 10)
    assert fields._bounds(Placement.model_fields["threads"]) == (1, 1024)


def test_kinds() -> None:
    assert fields._kind(Placement.model_fields["threads"].annotation) == (int, True)
    assert fields._kind(Placement.model_fields["ranks"].annotation) == (int, False)


def test_lines_become_a_mapping() -> None:
    assert fields._mapping("A=1\n\n B = x=y \n", "Environment") == {"A": "1", "B": "x=y"}
    with pytest.raises(BadInput, match="NAME=value"):
        fields._mapping("A", "Environment")
