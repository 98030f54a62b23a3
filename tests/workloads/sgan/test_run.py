"""The workload in a world of one, which is pytest's own process."""

from __future__ import annotations

import base64
import io
import json

import pytest
from mpi4py import MPI
from PIL import Image

from workshop.engine.context import Memory, RankContext
from workshop.extension import no_artifacts
from workshop.workloads.sgan import WORKLOAD

QUICK = {"data": "digits", "exchange": "mpi", "trace": 3, "batch": 8, "iterations": 12, "evaluate_every": 5}


def run(values, sink=None):
    sink = sink or Memory()
    params = WORKLOAD.check(QUICK | values)
    ctx = RankContext(MPI.COMM_SELF, sink, WORKLOAD.inputs(params, no_artifacts))
    return WORKLOAD.load()(ctx, params), sink


@pytest.fixture(scope="module")
def finished():
    return run({})


def told(sink, name):
    return [(step, value) for _, event, step, value in sink.events if event == name]


def test_it_tells_of_both_nets_and_of_each_evaluation(finished):
    metrics, sink = finished
    for name in ("loss", "accuracy", "generator loss"):
        assert [step for step, _ in told(sink, name)] == list(range(12))
    assert all(0 <= value <= 1 for _, value in told(sink, "accuracy"))
    for name in ("held-out accuracy", "held-out loss", "memory", "time.evaluate"):
        assert [step for step, _ in told(sink, name)] == [5, 10, 12]
    assert metrics["evaluations"] == 3
    assert metrics["held_out_accuracy"] == told(sink, "held-out accuracy")[-1][1]
    assert metrics["memory"][0] > 100e6
    assert (metrics["labelled_images"], metrics["unlabelled_images"]) == (100, 1337)
    assert metrics["seconds"]["evaluate"] > 0 and metrics["seconds"]["prepare"] > 0


def test_images_per_second_counts_labelled_and_unlabelled_images(finished):
    metrics, _ = finished
    assert metrics["measured_steps"] == 10
    steps = metrics["images_per_second"] * metrics["seconds"]["train"]
    assert steps > 10 * (8 + 4)  # the first two steps, which compile, aren't among them
    in_steps = sum(metrics["phases"][name][0] for name in ("input", "compute", "communicate", "wait"))
    assert metrics["images_per_second_ranks"][0] == pytest.approx(10 * (8 + 4) / in_steps)


def test_generated_digits_are_kept_as_pictures(finished):
    _, sink = finished
    media_type, data = sink.artifacts["generated.json"]
    shown = json.loads(data)
    assert media_type == "application/json"
    assert len(shown) == 24
    assert {one["label"] for one in shown} <= set(range(10))
    pictures = [Image.open(io.BytesIO(base64.b64decode(one["png"]))) for one in shown]
    assert {picture.size for picture in pictures} == {(28, 28)}
    assert len({picture.tobytes() for picture in pictures}) > 1


def test_the_timeline_holds_the_steps_that_were_asked_for(finished):
    spans = json.loads(finished[1].artifacts["timeline.json"][1])["traceEvents"]
    assert {span["args"]["step"] for span in spans if span.get("ph") == "X"} == {2, 3, 4}


@pytest.mark.parametrize("inference", ["predict", "predict_on_batch"])
def test_every_way_of_inference_finds_the_same(finished, inference):
    metrics, _ = run({"inference": inference})
    assert metrics["weights"] == finished[0]["weights"]  # the same seed, and nothing that evaluation would change
    assert metrics["held_out_accuracy"] == finished[0]["held_out_accuracy"]
    assert metrics["held_out_loss"] == pytest.approx(finished[0]["held_out_loss"], rel=1e-4)


def test_a_loss_that_grows_beyond_all_bounds_ends_the_run():
    metrics, sink = run({"rate": 100.0, "iterations": 400, "evaluate_images": 20})
    assert metrics["diverged"]
    assert metrics["iterations"] < 400
    assert "generated.json" not in sink.artifacts  # of noise nothing is to be seen


def test_it_ends_where_a_stop_is_asked_for():
    sink = Memory()
    sink.stop = True
    metrics, _ = run({}, sink)
    assert metrics["stopped"]
    assert metrics["iterations"] < 12
    assert "held_out_accuracy" not in metrics


def test_larger_images_take_larger_nets(finished):
    metrics, sink = run({"size": 56, "batch": 2, "iterations": 2, "evaluate_images": 10})
    assert metrics["parameters"] > finished[0]["parameters"]
    picture = Image.open(io.BytesIO(base64.b64decode(json.loads(sink.artifacts["generated.json"][1])[0]["png"])))
    assert picture.size == (56, 56)
