"""Which runs a study of three ways wants, and what can't be asked for."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.workloads.federated.study.plan import plan


def test_every_seed_is_a_run_of_all_three_ways() -> None:
    wanted = plan(workload("federated"), {"seed": 7, "data": "digits"}, Placement(ranks=2), 3)
    trials = wanted.trials()
    assert [trial.params["seed"] for trial in trials] == [7, 8, 9]
    assert [trial.label for trial in trials] == ["seed 7", "seed 8", "seed 9"]
    assert [trial.point for trial in trials] == [{"seed": 7}, {"seed": 8}, {"seed": 9}]
    others = [{**trial.params, "seed": 0} for trial in trials]
    assert others[0] == others[1] == others[2], "they differ in nothing else"
    assert others[0]["way"] == "all"
    assert {trial.placement["ranks"] for trial in trials} == {2}
    assert wanted.description() == plan(workload("federated"), wanted.params, Placement(ranks=2), 3).description()


@pytest.mark.parametrize(
    ("name", "given", "seeds", "sentence"),
    [
        ("mnist", {}, 5, "mnist doesn't learn in three ways; federated and segmentation do"),
        ("federated", {"way": "alone"}, 5, "way is 'alone', but this study sets all three side by side"),
        ("federated", {}, 0, "seeds is 0: it should be a whole number from 1 to 100"),
        ("federated", {"nonsense": 1}, 5, "nonsense is not one of its settings"),
        ("federated", {"seed": 2**31 - 2}, 5, "seed is 2147483648"),
    ],
)
def test_what_can_not_be(name: str, given: dict[str, object], seeds: int, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        plan(workload(name), given, Placement(), seeds)
