"""Who is poisoned."""

from __future__ import annotations

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.training import protection


def asked(**values):
    return WORKLOAD.check({"institutions": 9, **values})


def test_as_many_are_poisoned_as_were_asked_for_others_with_other_seeds():
    assert protection.attackers(asked()) == []
    drawn = [protection.attackers(asked(attack="scale", attackers=3, seed=seed)) for seed in range(6)]
    assert all(len(set(some)) == 3 and some == sorted(some) for some in drawn)
    assert {one for some in drawn for one in some} <= set(range(9))
    assert len(set(map(tuple, drawn))) > 1
