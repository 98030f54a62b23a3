"""What a run says of an attack, a defence and privacy, from figures that are known."""

from __future__ import annotations

import math

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict

INSTITUTIONS = [{"images": 100, "validation": 25, "distance": 1.0} for _ in range(6)]
POISONED = [*INSTITUTIONS[:2], {**INSTITUTIONS[2], "distance": 7.5}, *INSTITUTIONS[3:]]


def said(ways: dict[str, float], params: dict, **changes) -> dict[str, str]:
    metrics = {
        "by_way": {
            way: {"held_out_score": score, "own_score": score, "images_read": 4000, "held_out": [score] * 9}
            for way, score in ways.items()
        },
        "ways": list(ways),
        "institutions": INSTITUTIONS,
        "rounds": 9,
        "participants": 6.0,
        "held_out_images": 1000,
        "measure": "accuracy",
        "drift": 0.3,
        "loss": 0.1,
        "dropped": [],
        "skipped": [],
    }
    where = {"machine": machine(2), "rank_map": rank_map([0], [1])}
    params = {"way": "federated", "rate": 0.1, "rule": "mean", "attack": "none", "privacy": "none", **params}
    return verdict(run(workload="federated", params=params, metrics=metrics | changes, **where), {})


SCALE = {"attack": "scale", "attackers": 1}
KNOWN = {"attackers": [3], "rule": "mean", "institutions": POISONED}


def test_what_an_attack_cost_and_what_to_do_about_it():
    told = said({"federated": 0.5, "plain": 0.93}, SCALE, **KNOWN)
    assert told["verdict"] == "The attack cost 43 points: 50 % on held-out images in place of 93 %."
    assert "Institution 3 sent -5 times its update." in told["why"]
    assert "It shows: such an update lies 7.5 times as far from the others" in told["why"]
    assert "--rule median" in told["next"]


@pytest.mark.parametrize(
    ("defended", "ending", "following"),
    [
        (0.80, "the median of each value won 30 points back.", "--rule trimmed --trim 1"),
        (
            0.925,
            "the median of each value won 42.5 points back; the 0.5 points that are left may be chance.",
            "--attackers 2",
        ),
    ],
)
def test_what_a_rule_won_back(defended, ending, following):
    ways = {"federated": defended, "plain": 0.93, "undefended": 0.5}
    told = said(ways, SCALE | {"rule": "median"}, **KNOWN | {"rule": "median"})
    assert told["verdict"].startswith("The attack cost 43 points: 50 %")
    assert told["verdict"].endswith(ending)
    assert following in told["next"]


def test_an_attack_that_costs_nothing_or_does_not_show():
    told = said({"federated": 0.925, "plain": 0.93}, SCALE, attackers=[2, 5], rule="mean")
    apart = "made no difference that so many images can tell: 92.5 %, without it 93 %"
    assert told["verdict"].startswith(f"The attack {apart}")
    assert "Institutions 2 and 5 sent -5 times their update." in told["why"]
    assert "It doesn't show: a poisoned update lies only 1 times as far" in told["why"]


PRIVATE = {"privacy": "institutions", "noise": 1.0, "clip": 0.5, "delta": 1e-5}


@pytest.mark.parametrize(
    ("epsilon", "words", "following"),
    [
        (11.77, "next to nothing is promised", "--noise 2), and have 24 institutions (--institutions 24)"),
        (0.5, "that is strict", "Take away some of the noise"),
    ],
)
def test_what_noise_promises_and_costs(epsilon, words, following):
    told = said({"federated": 0.57, "plain": 0.85}, PRIVATE, epsilon=epsilon, clipped=0.89, rule="mean")
    assert told["verdict"] == (
        f"Epsilon is {epsilon:.3g} for a delta of 1·10⁻⁵, at 28 points less: 57 % in place of 85 %."
    )
    assert words in told["why"]
    assert "89 % of the updates were longer than the clip of 0.5." in told["why"]
    assert following in told["next"]


def test_without_noise_nothing_is_promised():
    told = said({"federated": 0.85, "plain": 0.85}, PRIVATE | {"noise": 0.0}, epsilon=None, clipped=0.2)
    assert told["verdict"].startswith("Without noise no privacy is promised, at no cost that so many images can tell")
    assert "--noise 1" in told["next"]


def test_what_a_rule_costs_without_an_attack():
    told = said({"federated": 0.80, "plain": 0.93}, {"rule": "trimmed"}, rule="trimmed")
    assert told["verdict"] == "The trimmed mean replaced the mean, at 13 points less: 80 % in place of 93 %."
    assert "--attack scale" in told["next"]


def test_a_federation_of_patients_does_not_guess_digits():
    told = said({"federated": 0.5}, {}, measure="Dice", loss=50.0)
    assert "diverged" not in told["verdict"]
    assert said({"federated": 0.5}, {}, measure="Dice", loss=math.nan)["verdict"] == "The training diverged."
    assert said({"federated": 0.5}, {}, loss=50.0)["verdict"] == "The training diverged."
