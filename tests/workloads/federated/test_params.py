"""Which trainings of other ways a federation has beside it."""

from __future__ import annotations

import pytest

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.training.ways import ways_of


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["federated"]),
        ({"way": "all"}, ["federated", "centralised", "alone"]),
        ({"attack": "scale"}, ["federated", "plain"]),
        ({"attack": "scale", "rule": "median"}, ["federated", "plain", "undefended"]),
        ({"privacy": "institutions", "way": "all"}, ["federated", "centralised", "alone", "plain"]),
        ({"attack": "scale", "beside": "no"}, ["federated"]),
    ],
)
def test_what_is_trained_beside_it(values, expected):
    found = ways_of(WORKLOAD.check(values))
    assert list(found) == expected
    if "plain" in found:
        assert not found["plain"].guarded
    if "undefended" in found:
        assert found["undefended"].attacked
        assert found["undefended"].rule == "mean"
