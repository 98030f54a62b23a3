"""Each step of the recipe switched off on two real ranks: what breaks, and what doesn't."""

from __future__ import annotations

import math

import pytest

from tests.ranks import run_ranks
from tests.support import need, starts_processes
from workshop.mpi import horovod

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
@starts_processes
def runs():
    need(horovod.built(), "Horovod is not built here")
    return run_ranks("tests.workloads.mnist.ranks_program", 2)["runs"]


@pytest.fixture(scope="module")
def metrics(runs):
    return {name: run["metrics"] for name, run in runs.items()}


def told(run, name, rank=0):
    return [value for event, _, value in run["events"][rank] if event == name]


def test_the_whole_recipe_gives_one_network_on_all_ranks(runs, metrics):
    whole = metrics["all"]
    assert whole["exchange"] == "horovod"
    assert len(set(whole["weights"])) == 1
    assert whole["spread_before"] > 0.5
    assert whole["spread"] == 0
    assert set(told(runs["all"], "spread")) == {0.0}
    assert (whole["images_read"], whole["distinct_images"], whole["updates"]) == (400, 400, 14)
    kept = whole["checkpoints"]
    assert (kept["written"], kept["kept"], kept["left_out"], kept["differ"]) == (2, 2, 0, False)
    assert kept["bytes"] == sum(size for name, size in runs["all"]["artifacts"][0].items() if "checkpoint" in name)
    files = ["checkpoint-1.npz", "checkpoint.npz", "misclassified.json", "timeline.json"]
    assert [sorted(names) for names in runs["all"]["artifacts"]] == [files, []]


def test_horovod_and_mpi_train_the_same_network(metrics):
    assert metrics["mpi"]["weights"] == metrics["all"]["weights"]
    assert metrics["mpi"]["mpi_seconds"] is None and 0 < metrics["all"]["mpi_seconds"] < 1


def test_gradients_that_leave_early_train_the_same_network(metrics):
    overlap = metrics["overlap"]
    assert overlap["weights"] == metrics["all"]["weights"]
    assert overlap["messages_per_step"] > 1
    assert 0 <= overlap["hidden"] <= 1 and metrics["mpi"]["hidden"] is None


def test_two_batches_between_exchanges_are_one_of_twice_the_size(metrics):
    parts, whole = metrics["accumulate"], metrics["scale none"]
    assert (parts["updates"], parts["images_read"]) == (whole["updates"], whole["images_read"])
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-3)


def test_compressed_gradients_keep_one_network(metrics):
    short, whole = metrics["8bit"], metrics["mpi"]
    assert len(set(short["weights"])) == 1 and short["weights"] != whole["weights"]
    assert short["gradient_bytes"] == whole["bytes_per_step"] == whole["gradient_bytes"]
    assert 0.25 < short["bytes_per_step"] / whole["bytes_per_step"] < 0.27
    assert short["held_out_accuracy"] == pytest.approx(whole["held_out_accuracy"], abs=0.1)


def test_without_a_broadcast_ranks_train_different_networks(runs, metrics):
    broken = metrics["broadcast"]
    assert len(set(broken["weights"])) == 2
    assert broken["spread"] > 0.5
    assert all(value > 0.5 for value in told(runs["broadcast"], "spread"))
    assert broken["held_out_accuracy"] < metrics["all"]["held_out_accuracy"]


def test_without_an_exchange_ranks_drift_apart_from_the_same_start(runs, metrics):
    spreads = told(runs["none"], "spread")
    assert spreads[0] == 0
    assert 0 < spreads[1] < spreads[2] == metrics["none"]["spread"]
    assert len(set(metrics["none"]["weights"])) == 2
    assert metrics["none"]["bytes_exchanged"] == 0


def test_without_shards_all_ranks_read_the_same_images(metrics):
    broken = metrics["shard"]
    assert (broken["shards"], broken["images_read"], broken["distinct_images"]) == ([400, 400], 400, 200)
    assert metrics["shard and divide"]["distinct_images"] == 400  # each reads them all


def test_without_divided_steps_an_epoch_takes_as_long_as_on_one_rank(metrics):
    broken = metrics["divide"]
    assert broken["images_read"] == 800
    assert broken["updates"] == 2 * math.ceil(400 / 32)
    assert metrics["all"]["updates"] == 2 * math.ceil(200 / 32)


@pytest.mark.parametrize(("name", "factor"), [("all", 2), ("scale none", 1), ("scale sqrt", math.sqrt(2))])
def test_the_learning_rate_is_scaled_and_warmed_up(runs, metrics, name, factor):
    rates = told(runs[name], "learning rate")
    assert metrics[name]["learning_rate"] == pytest.approx(0.001 * factor)
    assert rates[0] == pytest.approx(0.001)
    assert rates[-1] == pytest.approx(0.001 * factor)
    assert rates == sorted(rates)


def test_a_rate_far_too_large_diverges_and_ends_early(metrics):
    assert metrics["diverges"]["diverged"]
    assert metrics["diverges"]["epochs"] < 8
    assert not metrics["diverges"]["loss"] < 10 * math.log(10)


def test_without_averaging_rank_0_tells_of_itself_alone(runs, metrics):
    alone, whole = metrics["average"], metrics["all"]
    assert alone["weights"] == whole["weights"]  # nothing else changes
    assert alone["held_out_accuracy"] == alone["held_out_accuracy_ranks"][0]
    assert alone["held_out_accuracy_ranks"] == whole["held_out_accuracy_ranks"]
    assert whole["held_out_accuracy"] == pytest.approx(sum(whole["held_out_accuracy_ranks"]) / 2, abs=1e-9)
    assert alone["loss"] != whole["loss"]
    for rank in range(2):
        assert told(runs["average"], "held-out accuracy", rank)[-1] == alone["held_out_accuracy_ranks"][rank]
    assert told(runs["all"], "held-out accuracy", 1) == []


def test_checkpoints_of_every_rank_overwrite_each_other(runs, metrics):
    broken = metrics["checkpoint"]["checkpoints"]
    assert (broken["written"], broken["kept"], broken["differ"]) == (4, 2, False)
    assert broken["bytes"] == pytest.approx(2 * metrics["all"]["checkpoints"]["bytes"], rel=1e-3)
    assert all("checkpoint.npz" in names for names in runs["checkpoint"]["artifacts"])
    assert metrics["checkpoint and broadcast"]["checkpoints"]["differ"]


def test_checkpoints_come_at_the_steps_that_were_asked_for_and_at_the_end(runs, metrics):
    every = metrics["resumed within"]  # from 9 updates to 14
    kept = every["checkpoints"]
    assert (kept["written"] + kept["left_out"], kept["interval_steps"]) == (2, 3)
    told_steps = [step for name, step, _ in runs["resumed within"]["events"][0] if name == "time.checkpoint"]
    assert set(told_steps) <= {12, 14} and told_steps[-1] == 14
    assert metrics["all"]["checkpoints"]["interval_steps"] == 7
    assert 0 < kept["seconds_blocked"] <= every["seconds"]["checkpoint"]


def test_moving_means_of_batch_normalisation_are_averaged(metrics):
    told = metrics["normalised"]
    assert told["spread"] == 0
    assert len(set(told["weights"])) == 1
    assert not told["checkpoints"]["differ"]  # means and variances are in it


def test_a_run_ends_after_as_many_steps_as_asked_for(metrics):
    assert (metrics["steps"]["updates"], metrics["steps"]["epochs"]) == (5, 0)
    assert metrics["steps"]["checkpoints"] is None  # one of half an epoch couldn't be gone on from
    assert metrics["steps"]["held_out_accuracy"] > 0


def test_a_rank_whose_share_has_ended_still_takes_part(metrics):
    # 401 images over two ranks in batches of 200: the second step has one image, of rank 0.
    assert (metrics["odd"]["shards"], metrics["odd"]["updates"]) == ([201, 200], 2)
    assert len(set(metrics["odd"]["weights"])) == 1
    assert math.isfinite(metrics["odd"]["loss"])


def test_a_stop_that_one_rank_hears_of_ends_all_in_the_same_step(runs, metrics):
    assert metrics["stopped"]["stopped"]
    assert metrics["stopped"]["updates"] < 14
    steps = [{step for name, step, _ in events if name == "images/s"} for events in runs["stopped"]["events"]]
    assert steps[0] == steps[1] == set(range(2, metrics["stopped"]["updates"]))


def test_a_run_that_goes_on_from_a_checkpoint_ends_as_one_that_never_stopped(metrics):
    resumed = metrics["resumed"]
    assert resumed["resumed"] == {"epoch": 1, "update": 7, "differs": []}
    assert resumed["weights"] == metrics["all"]["weights"]  # the same bits
    assert (resumed["updates"], resumed["epochs"]) == (14, 2)
    assert resumed["loss"] == metrics["all"]["loss"]
    assert metrics["half"]["weights"] != metrics["all"]["weights"]


def test_a_run_that_goes_on_in_the_middle_of_an_epoch_ends_as_one_that_never_stopped(metrics):
    resumed = metrics["resumed within"]
    assert resumed["resumed"] == {"epoch": 1, "update": 9, "differs": []}
    assert (resumed["weights"], resumed["updates"]) == (metrics["all"]["weights"], 14)
    other = metrics["resumed with another batch"]
    assert other["resumed"]["differs"] == ["batch"]
    assert other["updates"] == 9 + 5, "the second epoch begins anew"


def test_every_measured_step_is_accounted_for(metrics):
    for name in ("all", "mpi", "none", "broadcast"):
        told = metrics[name]
        assert told["measured_steps"] == told["updates"] - 2
        assert sum(told["last"]) == told["measured_steps"]
        assert told["images_per_second"] > 0
        assert told["phases"]["communicate"][0] == told["phases"]["communicate"][1]
        assert min(min(seconds) for seconds in told["phases"].values()) >= 0
        assert 0 <= told["telling_share"] < 0.5
        assert min(told["memory"]) > 100e6
