"""What poisoned institutions are, learn and send."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.training import protection
from workshop.workloads.federated.training.task import Silo


def asked(**values):
    return WORKLOAD.check({"institutions": 9, **values})


def test_as_many_are_poisoned_as_were_asked_for_others_with_other_seeds():
    assert protection.attackers(asked()) == []
    drawn = [protection.attackers(asked(attack="flip", attackers=3, seed=seed)) for seed in range(6)]
    assert all(len(set(some)) == 3 and some == sorted(some) for some in drawn)
    assert {one for some in drawn for one in some} <= set(range(9))
    assert len(set(map(tuple, drawn))) > 1
    assert protection.attackers(asked(attack="scale", attackers=3)) == drawn[0], "whatever they do"


def test_labels_are_flipped_but_not_those_that_it_validates_with():
    digits = np.arange(10, dtype=np.int32)
    own = Silo(np.zeros((10, 2, 2, 1), np.float32), digits, np.zeros((10, 2, 2, 1), np.float32), digits)
    wrong = protection.poisoned_silo(own, 10)
    assert wrong.labels.tolist() == digits[::-1].tolist()
    assert wrong.labels.dtype == np.int32
    assert wrong.own_labels is own.own_labels
    mask = np.array([0.0, 1.0, 1.0], np.float32).reshape(1, 3, 1, 1)
    assert protection.flipped(mask, 1).ravel().tolist() == [1.0, 0.0, 0.0]
    assert protection.flipped(mask, 1).dtype == np.float32


@pytest.mark.parametrize("boost", [-5.0, 20.0, 0.0])
def test_an_update_is_multiplied(boost):
    own = np.linspace(-1, 1, 7).astype(np.float32)
    np.testing.assert_allclose(
        protection.poisoned_update(own, asked(attack="scale", boost=boost)), boost * own, rtol=1e-6
    )


def test_other_attacks_on_an_update():
    own = np.ones(4, np.float32)
    assert np.isnan(protection.poisoned_update(own, asked(attack="nan"))).all()
    assert protection.poisoned_update(own, asked(attack="flip")) is own
