"""What widgets take from fields."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.web.pages import fields


def test_lines_become_a_mapping() -> None:
    assert fields._mapping("A=1\n\n B = x=y \n", "Environment") == {"A": "1", "B": "x=y"}
    with pytest.raises(BadInput, match="NAME=value"):
        fields._mapping("A", "Environment")
