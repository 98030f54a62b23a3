"""Which runs a study of three ways wants, and what can't be asked for."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.workloads.federated.study.plan import plan


def test_each_seed_is_a_run_of_each_way() -> None:
    wanted = plan(workload("federated"), {"seed": 7, "data": "digits"}, Placement(ranks=2), 3)
    trials = wanted.trials()
    assert [trial.params["seed"] for trial in trials] == [7, 7, 7, 8, 8, 8, 9, 9, 9]
    ways = ["federated", "centralised", "alone"]
    assert [trial.label for trial in trials] == [*ways, *ways[1:], ways[0], ways[2], *ways[:2]], "interleaved"
    assert all(trial.point == {"way": trial.label} == {"way": trial.params["way"]} for trial in trials)
    others = [{**trial.params, "seed": 0, "way": ""} for trial in trials]
    assert all(other == others[0] for other in others), "they differ in nothing else"
    assert {trial.placement["ranks"] for trial in trials} == {2}
    assert wanted.description() == plan(workload("federated"), wanted.params, Placement(ranks=2), 3).description()


def test_only_the_federated_way_is_attacked() -> None:
    wanted = plan(workload("federated"), {"attack": "scale", "rule": "trimmed"}, Placement(ranks=2), 1)
    assert [(cell.params["attack"], cell.params["rule"]) for cell in wanted.cells] == [
        ("scale", "trimmed"),
        ("none", "mean"),
        ("none", "mean"),
    ]


@pytest.mark.parametrize(
    ("name", "given", "seeds", "sentence"),
    [
        ("mnist", {}, 5, "mnist doesn't learn in three ways; federated and segmentation do"),
        ("federated", {"way": "alone"}, 5, "way is 'alone', but this study sets all three side by side"),
        ("federated", {}, 0, "seeds is 0: it should be a whole number from 1 to 100"),
        ("federated", {"nonsense": 1}, 5, "nonsense is not one of its settings"),
        ("federated", {"seed": 2**31 - 2}, 5, "seed is 2147483650"),
    ],
)
def test_what_can_not_be(name: str, given: dict[str, object], seeds: int, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        plan(workload(name), given, Placement(), seeds)
