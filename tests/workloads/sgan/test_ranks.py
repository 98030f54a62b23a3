"""Both nets on two and three real ranks: through every exchange, and against one process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import limit, need, starts_processes
from workshop.mpi import horovod

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(600))]

WAYS = ("horovod", "mpi", "mpi-per-tensor", "parameter-server")
AGREE = 1e-4  # absolute, in float32; four steps with the rate 0.003 move most weights by a hundred times that


def ranks(*words):
    need(horovod.built(), "Horovod is not built here")
    return run_ranks("tests.workloads.sgan.ranks_program", *words, seconds=560)


@pytest.fixture(scope="module", params=by_ranks(2, 3))
@starts_processes
def found(request):
    return ranks(request.param, *(["all"] if request.param == 2 else []))


@pytest.fixture(scope="module")
@starts_processes
def two():
    """What two ranks did besides trying all exchanges."""
    return ranks(2, "all")


def metrics(found):
    return {name: run["metrics"] for name, run in found["runs"].items()}


def flat(run):
    return np.concatenate([np.array(weight) for weight in run["weights"]])


def test_both_nets_are_the_same_on_all_ranks_with_every_exchange(found):
    told = metrics(found)
    for way in WAYS:
        assert told[way]["exchange"] == way
        assert told[way]["spread_before"] > 0.1  # each drew weights of its own
        assert told[way]["spread"] == 0
        assert len(set(told[way]["weights"])) == 1
        np.testing.assert_allclose(flat(found["runs"][way]), flat(found["runs"]["mpi"]), rtol=0, atol=AGREE)


def test_without_an_exchange_they_are_not(found):
    told = metrics(found)
    assert len(set(told["none"]["weights"])) == found["ranks"]
    assert told["none"]["spread"] > 1e-4


def test_a_generator_that_is_left_out_of_the_exchange_is_noticed(two):
    told = metrics(two)
    assert len(set(told["one net"]["weights"])) == two["ranks"]
    assert told["one net"]["spread"] > 1e-6


def test_all_gradients_go_in_one_message(found):
    told = metrics(found)
    size = 4 * len(flat(found["runs"]["mpi"]))
    for way in ("horovod", "mpi"):
        assert (told[way]["messages_per_step"], told[way]["bytes_per_step"]) == (1, size)


def test_ranks_together_train_what_one_process_does_on_all_their_images(found):
    np.testing.assert_allclose(flat(found["runs"]["mpi"]), flat(found["runs"]["alone"]), rtol=0, atol=AGREE)
    one, several = (found["runs"][name]["metrics"] for name in ("alone", "mpi"))
    assert several["loss"] == pytest.approx(one["loss"], rel=1e-3)
    assert several["generator_loss"] == pytest.approx(one["generator_loss"], rel=1e-3)


def test_held_out_images_are_shared_or_left_to_rank_0(two):
    told = metrics(two)
    shared, alone = told["mpi"], told["rank 0 evaluates"]
    assert alone["held_out_accuracy"] == shared["held_out_accuracy"]
    assert alone["held_out_loss"] == pytest.approx(shared["held_out_loss"])
    assert alone["weights"] == shared["weights"]
    assert shared["evaluations"] == alone["evaluations"] == 2
    assert two["runs"]["mpi"]["evaluated"] == [20, 20]
    assert two["runs"]["rank 0 evaluates"]["evaluated"] == [40, 0]
    # The others' waiting is told as such, and by each evaluation.
    for rank in range(1, two["ranks"]):
        assert alone["evaluate_wait"][rank] > 0
        assert sum(two["runs"]["rank 0 evaluates"]["waited"][rank]) >= alone["evaluate_wait"][rank] * 0.999


def test_evaluations_by_images_grow_with_the_ranks(two):
    told = metrics(two)
    assert told["by images"]["evaluations"] == 4  # of 2 iterations of one rank, in 4 of several: in every one


def test_rank_0_tells_of_all_and_every_rank_of_its_memory_and_evaluations(two):
    for rank, names in enumerate(two["runs"]["mpi"]["names"]):
        assert {"memory", "time.evaluate", "time.wait", "images/s"} <= set(names)
        of_all = {"loss", "accuracy", "generator loss", "held-out accuracy", "held-out loss", "total images/s"}
        assert of_all & set(names) == (of_all if rank == 0 else set())
    assert two["runs"]["mpi"]["artifacts"] == [["generated.json", "timeline.json"], *[[]] * (two["ranks"] - 1)]


def test_the_classifier_alone_is_trained_on_all_ranks_too(two):
    told = metrics(two)
    assert len(set(told["supervised"]["weights"])) == 1
    assert told["supervised"]["unlabelled_images"] == 0
    assert "generator_loss" not in told["supervised"]
