"""Federations on one and two real ranks against single-process training, and against each other."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from tests.workloads.federated import oracle
from tests.workloads.federated.ranks_program import CASES, LONG, SMALL
from workshop.extension import no_artifacts
from workshop.workloads.federated import WORKLOAD
from workshop.workloads.federated.mathematics.partition import batches, participants, partition
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.heldout import as_inputs

pytestmark = pytest.mark.real

RANKS = (1, 2)
AGREE = 2e-6  # absolute, weights after a few steps in float32 against float64
SAME = 1e-6  # the same arithmetic in other processes
ONE_STEP = [name for name in CASES if name.startswith(("iid", "label"))]


def at(ranks):
    return run_ranks("tests.workloads.federated.ranks_program", ranks)


@pytest.fixture(scope="module", params=by_ranks(*RANKS))
@starts_processes
def found(request):
    return at(request.param) | {"ranks": request.param}


def vector(text):
    return np.frombuffer(base64.b64decode(text), np.float32)


def asked(name):
    return WORKLOAD.check(SMALL | CASES[name])


@pytest.fixture(scope="module")
def data():
    return images.read(WORKLOAD.inputs(WORKLOAD.check(SMALL), no_artifacts))


def union(params, data, number):
    """What all institutions together read in the single step of a round."""
    dealt = partition(params, data.train_labels)
    read = []
    for one, own in enumerate(dealt.train):
        (order,) = batches(len(own), params.batch, 1, (params.seed, number, one))
        read.append(own[order])
    return np.concatenate(read)


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_local_step_is_data_parallel_training_on_the_union_of_the_batches(found, data, name):
    told, params = found["runs"][name], asked(name)
    weights = vector(told["start"]).astype(np.float64)
    for number in range(1, params.rounds + 1):
        read = union(params, data, number)
        pictures = as_inputs(data.train_images[read])
        weights -= params.rate * oracle.gradient(weights, pictures, data.train_labels[read])
    assert np.abs(weights - vector(told["start"])).max() > 100 * AGREE, "it learned nothing to compare"
    np.testing.assert_allclose(vector(told["end"]), weights, rtol=0, atol=AGREE)


@pytest.mark.parametrize("name", ["label 4", "long", "prox", "adam", "all", "robust", "hidden"])
def test_it_does_not_matter_who_lives_where(name):
    one, other = (at(ranks)["runs"][name] for ranks in RANKS)
    assert one["lives"] != other["lives"]
    np.testing.assert_allclose(vector(other["end"]), vector(one["end"]), rtol=0, atol=SAME)
    for way, told in one["metrics"]["by_way"].items():
        for what in ("held_out", "own"):  # one image of 50 may fall on the other side
            assert other["metrics"]["by_way"][way][what] == pytest.approx(told[what], abs=0.021)
    assert [other["metrics"][name] for name in ("bytes_up", "bytes_down")] == [
        one["metrics"][name] for name in ("bytes_up", "bytes_down")
    ]


def test_the_proximal_term_holds_local_models_nearer(found):
    runs = found["runs"]
    moved = {name: np.linalg.norm(vector(runs[name]["end"]) - vector(runs[name]["start"])) for name in ("prox", "long")}
    assert moved["prox"] < 0.9 * moved["long"]


def test_those_who_take_part_are_those_who_were_drawn(found):
    params = WORKLOAD.check(SMALL | LONG)
    drawn = [participants(params, number) for number in (1, 2, 3)]
    institutions = found["runs"]["long"]["metrics"]["institutions"]
    assert [one["took_part"] for one in institutions] == [sum(one in some for some in drawn) for one in range(5)]
    events = found["runs"]["long"]["events"]
    for number, some in enumerate(drawn, 1):
        own = {name for name, step, _ in events if step == number and name.endswith("own accuracy") and name[0] == "i"}
        assert own == {f"institution {one + 1} own accuracy" for one in some}
        outside = [name for name, step, _ in events if step == number and name[0] == "i" and " held-out " in name]
        assert outside == [f"institution {one + 1} held-out accuracy" for one in some]


def test_bytes_are_those_of_models_and_updates(found):
    told = found["runs"]["long"]["metrics"]
    model, rounds, taking_part = told["bytes_model"], 3, 3
    assert told["bytes_down"] == 5 * model * (rounds + 1)  # the one that all begin with, too
    scores = 5 * 12 * 8 * rounds
    assert told["bytes_up"] == rounds * taking_part * (model + 8) + scores


def test_nothing_but_models_updates_and_small_numbers_is_ever_sent(found):
    for told in found["watched"]:
        assert set(told["calls"]) <= {"Bcast", "Send", "Recv", "Barrier", "allreduce"}
        assert max(told["sizes"]) == told["model"]
        assert [size for size in told["sizes"] if 200 < size < told["model"]] == []
        assert told["leaks"] == 0
    assert found["ranks"] == 1 or any("Send" in told["calls"] for told in found["watched"][1:])


def test_an_update_that_is_no_number_is_dropped_by_name(found):
    told = found["spoiled"]
    assert told["finite"]
    rounds = [number for number in (1, 2, 3) if 1 in participants(WORKLOAD.check(SMALL | LONG), number)]
    assert told["metrics"]["dropped"] == [{"round": number, "institution": 2} for number in rounds]
    assert rounds
    assert math.isfinite(told["metrics"]["loss"])


def test_a_stop_that_one_rank_hears_of_between_two_rounds_ends_all(found):
    told = found["stopped"]["between"]["metrics"]
    assert told["stopped"]
    assert told["rounds"] == 2


def test_a_stop_that_one_rank_hears_of_within_a_round_ends_all_and_that_round_is_forgotten(found):
    between, within = (found["stopped"][when] for when in ("between", "within"))
    assert within["metrics"]["stopped"]
    assert within["metrics"]["rounds"] == 2
    for what in ("model_digest", "by_way", "institutions", "dropped"):
        assert within["metrics"][what] == between["metrics"][what], what
    read = within["read"][-1] - between["read"][-1]
    whole = found["runs"]["all"]["metrics"]["images_read"] - between["metrics"]["images_read"]
    assert 0 < read < whole, "it was in the middle of it"


def test_a_stop_within_the_first_round_leaves_nothing_to_tell(found):
    told = found["stopped"]["first"]["metrics"]
    assert (told["stopped"], told["rounds"], told["by_way"]) == (True, 0, {})
    assert "held_out_accuracy" not in told
    assert len(told["institutions"]) == 5


def test_whoever_is_poisoned_or_hidden_lives_anywhere():
    one, other = (at(ranks)["runs"] for ranks in RANKS)
    assert one["robust"]["metrics"]["attackers"] == other["robust"]["metrics"]["attackers"]
    assert one["hidden"]["metrics"]["epsilon"] == other["hidden"]["metrics"]["epsilon"] > 0
    assert one["hidden"]["metrics"]["clipped"] == pytest.approx(other["hidden"]["metrics"]["clipped"], abs=0.01)
