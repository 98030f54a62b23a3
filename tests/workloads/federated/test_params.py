"""What can't be asked for at once is refused where it is submitted, in one sentence."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.training.ways import ways_of


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"secure": "masks", "compression": "8bit"}, "Compressed updates can't be masked"),
        ({"secure": "masks", "institutions": 2}, "Secure aggregation needs 3 institutions at least"),
        ({"secure": "masks", "participation": 0.5}, "participation 0.5 of 4 institutions is 2"),
        ({"silent": 4}, "silent is 4: of 4 institutions in a round at least one has to send; take at most 3"),
        ({"silent": 3, "secure": "masks"}, "at least three have to send; take at most 1"),
        ({"secure": "masks", "rule": "median"}, "The rule median compares updates, which secure aggregation hides"),
        ({"rule": "trimmed", "trim": 2}, "trim is 2: that many largest and as many smallest of 4 updates leave none"),
        ({"rule": "trimmed", "silent": 2}, "of 2 updates leave none"),
        ({"rule": "median", "compression": "topk"}, "0 where few institutions send a value"),
        ({"attack": "flip", "attackers": 4}, "attackers is 4 of 4 institutions: at least one has to be honest"),
        ({"attack": "scale", "way": "alone"}, "Nobody sends updates where way is alone"),
        ({"privacy": "images", "way": "centralised"}, "Nobody sends updates where way is centralised"),
        ({"privacy": "institutions", "rule": "median"}, "with rule median that doesn't hold; take rule mean"),
        ({"privacy": "institutions", "compression": "topk"}, "Compression changes updates after they were clipped"),
        ({"privacy": "institutions", "participation": 0.5, "silent": 1}, "each is drawn by itself"),
        ({"secure": "masks", "way": "alone"}, "Nobody sends updates where way is alone, so there is nothing to hide"),
        ({"compression": "8bit", "way": "centralised"}, "Nobody sends updates where way is centralised"),
        ({"silent": 1, "way": "alone"}, "leave secure, compression and silent as they are"),
        ({"noise": -1}, "noise is -1"),
        ({"clip": 0}, "clip is 0: it should be greater than 0"),
        ({"delta": 1}, "delta is 1"),
        ({"boost": "inf"}, "boost is"),
        ({"attackers": 0}, "attackers is 0"),
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
        {"secure": "masks", "privacy": "institutions"},
        {"secure": "masks", "privacy": "images"},
        {"compression": "8bit", "rule": "median"},
        {"compression": "8bit", "privacy": "images"},
        {"attack": "scale", "privacy": "institutions", "participation": 0.5},
        {"attackers": 200},  # without an attack they are nobody
        {"institutions": 1},
        {"rule": "trimmed", "institutions": 3},
        {"way": "all", "attack": "nan", "rule": "median"},
    ],
)
def test_not_refused(values):
    WORKLOAD.check(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ["federated"]),
        ({"way": "all"}, ["federated", "centralised", "alone"]),
        ({"attack": "flip"}, ["federated", "plain"]),
        ({"attack": "flip", "rule": "median"}, ["federated", "plain", "undefended"]),
        ({"attack": "scale", "privacy": "institutions"}, ["federated", "plain", "undefended"]),
        ({"rule": "median"}, ["federated", "plain"]),
        ({"privacy": "images", "way": "all"}, ["federated", "centralised", "alone", "plain"]),
        ({"attack": "flip", "beside": "no"}, ["federated"]),
        ({"compression": "8bit"}, ["federated", "whole"]),
        ({"compression": "topk", "beside": "no"}, ["federated"]),
        ({"compression": "8bit", "rule": "median"}, ["federated", "plain", "whole"]),
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
    if "whole" in found:
        assert found["whole"].compression == "none"
        assert found["whole"].rule == found["federated"].rule
