"""What can't be asked for at once is refused where it is submitted, in one sentence."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.training.ways import ways_of


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"rule": "trimmed", "trim": 2}, "trim is 2: that many largest and as many smallest of 4 updates leave none"),
        ({"rule": "trimmed", "participation": 0.5}, "of 2 updates leave none"),
        ({"attack": "scale", "attackers": 4}, "attackers is 4 of 4 institutions: at least one has to be honest"),
        ({"attack": "scale", "way": "alone"}, "Nobody sends updates where way is alone"),
        ({"privacy": "institutions", "way": "centralised"}, "Nobody sends updates where way is centralised"),
        ({"privacy": "institutions", "rule": "median"}, "with rule median that doesn't hold; take rule mean"),
        ({"noise": -1}, "noise is -1"),
        ({"clip": 0}, "clip is 0: it should be greater than 0"),
        ({"delta": 1}, "delta is 1"),
        ({"attackers": 0}, "attackers is 0"),
        ({"secure": "masks"}, "secure"),
    ],
)
def test_refused(values, words):
    with pytest.raises(BadInput) as refused:
        WORKLOAD.check(values)
    assert words in str(refused.value)
    assert str(refused.value).count(". ") == 0
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values",
    [
        {"attack": "scale", "privacy": "institutions", "participation": 0.5},
        {"attackers": 200},  # without an attack they are nobody
        {"institutions": 1},
        {"rule": "trimmed", "institutions": 3},
        {"way": "all", "attack": "scale", "rule": "median"},
    ],
)
def test_not_refused(values):
    WORKLOAD.check(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["federated"]),
        ({"way": "all"}, ["federated", "centralised", "alone"]),
        ({"attack": "scale"}, ["federated", "plain"]),
        ({"attack": "scale", "rule": "median"}, ["federated", "plain", "undefended"]),
        ({"attack": "scale", "privacy": "institutions"}, ["federated", "plain", "undefended"]),
        ({"rule": "median"}, ["federated", "plain"]),
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
