"""Which fields a form shows beside which others."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from workshop.core.forms import applies


class Some(BaseModel):
    kind: str = "a"
    always: int = 1
    with_a: int = Field(1, json_schema_extra={"when": {"kind": "a"}})
    with_some: int = Field(1, json_schema_extra={"when": {"kind": ["a", "b"], "always": 1}})


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"kind": "a", "always": 1}, {"kind", "always", "with_a", "with_some"}),
        ({"kind": "b", "always": 1}, {"kind", "always", "with_some"}),
        ({"kind": "b", "always": 2}, {"kind", "always"}),
        ({"kind": "c", "always": 1}, {"kind", "always"}),
    ],
)
def test_a_field_is_shown_where_others_have_the_values_that_it_names(values, shown):
    assert {name for name, field in Some.model_fields.items() if applies(field, values)} == shown
