"""Which fields a form shows beside which others."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from workshop.core.forms import applies, unused
from workshop.workloads.kmeans import KMeansParams


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


def test_a_param_without_effect_is_named_with_what_it_needs():
    params = KMeansParams(mode="online", iterations=8).model_dump()
    assert unused(KMeansParams, {"mode": "online", "iterations": 8, "batch": 4096}, params) == [
        "--iterations has no effect here; it acts only with --mode batch."
    ]
    assert unused(KMeansParams, {"iterations": 8}, KMeansParams(iterations=8).model_dump()) == []
