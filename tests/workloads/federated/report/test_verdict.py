"""What a federation says of itself, from figures that are known."""

from __future__ import annotations

import math

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict

PARAMS = {"way": "all", "algorithm": "fedavg", "partition": "dirichlet", "participation": 1.0, "rate": 0.1, "epochs": 2}
EVEN = [{"images": 100, "validation": 25, "labels": [10] * 10} for _ in range(4)]
LEVEL = [0.9] * 9


def way(held_out: float, own: float = 0.95, rounds: list[float] | None = None) -> dict:
    return {"held_out_score": held_out, "own_score": own, "images_read": 4000, "held_out": rounds or LEVEL}


def said(came: dict, params: dict | None = None, **changes) -> dict[str, str]:
    metrics = {
        "by_way": came,
        "ways": list(came),
        "institutions": EVEN,
        "rounds": 9,
        "participants": 4.0,
        "held_out_images": 1000,
        "drift": 0.3,
        "loss": 0.1,
        "dropped": [],
    }
    where = {"machine": machine(2), "rank_map": rank_map([0], [1])}
    return verdict(run(workload="federated", params=PARAMS | (params or {}), metrics=metrics | changes, **where), {})


def three(federated: float, centralised: float, alone: float, rounds: list[float] | None = None) -> dict:
    ways = {"federated": way(federated, rounds=rounds), "centralised": way(centralised), "alone": way(alone)}
    return ways


def test_which_way_won_and_by_how_much():
    told = said(three(0.91, 0.97, 0.70))
    assert told["verdict"] == (
        "Federated learning is 6 points behind pooled images and 21 points better than each alone."
    )
    assert "federated 91 %; pooled 97 %; alone 70 %" in told["why"]
    assert "4 institutions (digits in different shares), 9 rounds, 4,000 images read in each way" in told["why"]


def test_a_difference_that_so_few_images_can_not_tell_is_none():
    assert said(three(0.96, 0.97, 0.70))["verdict"].startswith(
        "Federated learning can't be told from pooled images and is 26 points better than each alone"
    )
    assert "1 points behind" in said(three(0.96, 0.97, 0.70), held_out_images=100_000)["verdict"]
    assert "can't be told from pooled images or each alone" in said(three(0.90, 0.90, 0.89))["verdict"]


@pytest.mark.parametrize(
    ("params", "changes", "because", "following"),
    [
        ({}, {"drift": 1.6}, "differ from their mean by 1.6 times its length", "--algorithm fedprox"),
        (
            {"algorithm": "fedprox"},
            {"drift": 1.6},
            "averaging leaves 53 % of their length",
            "--epochs 1) with more rounds",
        ),
    ],
)
def test_what_explains_that_it_stays_behind(params, changes, because, following):
    told = said(three(0.80, 0.97, 0.70), params, **changes)
    assert because in told["why"]
    assert following in told["next"]
    assert because not in said(three(0.97, 0.97, 0.70), params, **changes)["why"], "there is nothing to explain"


def test_updates_that_are_no_numbers_are_named():
    dropped = [{"round": number, "institution": one} for number in (1, 2) for one in (2, 3)]
    told = said(three(0.80, 0.97, 0.70), dropped=dropped)
    assert told["verdict"] == "Institutions 2 and 3 sent updates that are no numbers."
    assert "In 2 rounds they were dropped" in told["why"]
    assert "--rate 0.01" in told["next"]


@pytest.mark.parametrize(
    ("loss", "words"), [(math.nan, "became no number"), (50.0, "grew to 50; that of guessing is 2.3")]
)
def test_a_loss_that_grew_beyond_all_bounds_comes_first(loss, words):
    told = said(three(0.1, 0.1, 0.1), loss=loss)
    assert told["verdict"] == "The training diverged."
    assert words in told["why"]
    assert "diverged" not in said(three(0.1, 0.1, 0.1), loss=2.4)["verdict"]
