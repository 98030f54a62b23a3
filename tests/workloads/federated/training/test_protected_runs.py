"""Attack and defence in whole runs, in a world of one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.mathematics.aggregation import epsilon
from workshop.workloads.federated.run import Federation

SMALL = {"data": "digits", "images": 400, "model": "dense", "evaluate_images": 200, "rounds": 3, "institutions": 5}
EVEN = {"partition": "iid", "epochs": 1, "batch": 60_000}  # everybody takes one step on all that it has


def learned(**values):
    sink = Memory()
    params = WORKLOAD.check(SMALL | values)
    made = Federation(RankContext(MPI.COMM_SELF, sink, WORKLOAD.inputs(params, no_artifacts)), params)
    made.rounds()
    return made, made.finish(), sink


def told(sink, name):
    return [value for _, event, _, value in sink.events if event == name]


def models(made):
    return {way.name: way.model for way in made.ways}


def test_without_noise_and_with_a_huge_clip_it_is_the_unprotected_federation():
    made, metrics, sink = learned(**EVEN, privacy="institutions", noise=0, clip=1e9)
    found = models(made)
    np.testing.assert_allclose(found["federated"], found["plain"], rtol=0, atol=2e-6)
    assert metrics["epsilon"] is None, "without noise nothing is promised"
    assert told(sink, "epsilon") == []
    assert told(sink, "clipped") == [0, 0, 0]


def test_institutions_are_hidden_with_one_epsilon_that_grows():
    made, metrics, sink = learned(privacy="institutions", participation=0.4, clip=0.1, noise=1.5, rounds=5)
    epsilons = told(sink, "epsilon")
    assert len(epsilons) == 5
    assert epsilons == sorted(epsilons)
    assert metrics["epsilon"] == epsilons[-1] > epsilons[0] > 0
    assert epsilons == pytest.approx([epsilon(1.5, 1e-5, 0.4, times) for times in range(1, 6)]), (
        "a sample in every round"
    )
    assert metrics["clipped"] == 1.0
    taking_part = metrics["participants"] * 5
    assert [one["took_part"] for one in metrics["institutions"]] != [2] * 5, "each is drawn by itself"
    assert sum(one["took_part"] for one in metrics["institutions"]) == pytest.approx(taking_part)
    assert np.isfinite(made.ways[0].model).all()


def test_the_shared_model_moves_by_noise_of_the_size_that_epsilon_supposes():
    made, _, _ = learned(privacy="institutions", clip=1e-4, noise=1e4, rounds=1, beside="no", seed=3)
    start = Federation(made.ctx, made.params).ways[0].model
    moved = made.ways[0].model - start
    assert moved.std() == pytest.approx(1.0 / 5, rel=0.02)  # noise x clip over five institutions


def test_a_scaled_update_is_found_and_the_median_wins_back_what_it_cost():
    _, metrics, sink = learned(attack="scale", rule="median", partition="iid", rounds=6)
    by_way = {way: came["held_out_score"] for way, came in metrics["by_way"].items()}
    assert list(by_way) == ["federated", "plain", "undefended"]
    assert by_way["plain"] > 0.7
    assert by_way["undefended"] < by_way["plain"] - 0.3
    assert by_way["federated"] > by_way["plain"] - 0.1
    (attacker,) = metrics["attackers"]
    distances = [one["distance"] for one in metrics["institutions"]]
    assert max(range(5), key=distances.__getitem__) == attacker - 1
    assert distances[attacker - 1] > 3
    assert "attackers" not in sink.metrics, "learners are to find out"
    assert len(told(sink, f"institution {attacker} distance")) == 6


def test_the_proximal_term_is_the_federations_alone():
    """There is no shared model that pooled images, or each alone, could be held near."""
    plain, near = (learned(way="all", rounds=1, **values)[0].ways for values in ({}, {"algorithm": "fedprox", "mu": 5}))
    assert np.abs(near[0].model - plain[0].model).max() > 1e-3
    np.testing.assert_allclose(near[1].model, plain[1].model, rtol=0, atol=1e-5)
    for one in range(5):
        np.testing.assert_allclose(near[2].models[one], plain[2].models[one], rtol=0, atol=1e-5)


def test_updates_that_are_no_numbers_are_told_while_the_run_goes_on():
    sink = Memory()
    params = WORKLOAD.check(SMALL | {"rule": "trimmed", "trim": 2, "beside": "no"})
    made = Federation(RankContext(MPI.COMM_SELF, sink, WORKLOAD.inputs(params, no_artifacts)), params)
    silos = made.ways[0].rank.silos
    for one in (0, 1):
        silos[one] = dataclasses.replace(silos[one], images=silos[one].images * np.nan)
    start = made.ways[0].model.copy()
    made.rounds()
    assert told(sink, "dropped") == [2, 2, 2]
    assert len(sink.metrics["dropped"]) == 6
    assert {one["round"] for one in sink.metrics["dropped"]} == {1, 2, 3}
    assert sink.metrics["skipped"] == [1, 2, 3], "of three updates none is left when four are trimmed"
    assert np.array_equal(made.ways[0].model, start)
    assert made.finish()["skipped"] == [1, 2, 3]
