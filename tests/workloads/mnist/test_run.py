"""The workload in a world of one, which is pytest's own process."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import checkpoint
from workshop.extension import no_artifacts
from workshop.workloads.mnist import WORKLOAD

QUICK = {"data": "digits", "exchange": "mpi", "model": "dense", "trace": 3}


def run(values, **inputs):
    sink = Memory()
    params = WORKLOAD.check(QUICK | values)
    ctx = RankContext(MPI.COMM_SELF, sink, {**WORKLOAD.inputs(params, no_artifacts), **inputs})
    return WORKLOAD.load()(ctx, params), sink


@pytest.fixture(scope="module")
def finished():
    return run({"epochs": 12})


def test_a_single_process_learns_the_digits(finished):
    metrics, sink = finished
    assert metrics["held_out_accuracy"] > 0.9
    losses = [value for _, name, _, value in sink.events if name == "loss"]
    assert np.mean(losses[-20:]) < 0.5 * np.mean(losses[:20])
    assert metrics["exchange"] == "mpi"
    assert "digits" in metrics["data"]
    assert sum(metrics["shards"]) == metrics["train_images"] == 1437


def test_the_confusion_matrix_counts_every_held_out_digit(finished):
    metrics, _ = finished
    confusion = np.array(metrics["confusion"])
    assert confusion.shape == (10, 10) and confusion.sum() == metrics["held_out_images"]
    assert confusion.sum() - np.trace(confusion) == metrics["misclassified"]


def test_misclassified_digits_are_kept_as_pictures(finished):
    metrics, sink = finished
    shown = json.loads(sink.artifacts["misclassified.json"][1])
    assert metrics["misclassified"] == round((1 - metrics["held_out_accuracy"]) * metrics["held_out_images"])
    assert 0 < len(shown) <= min(24, metrics["misclassified"])
    for one in shown:
        assert one["label"] != one["predicted"]
        assert 0 < one["probability"] <= 1
    assert [one["probability"] for one in shown] == sorted((one["probability"] for one in shown), reverse=True)


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(BadInput, match="batch is 300, but of the 200 examples the whole is only 200"):
        run({"images": 200, "batch": 300})


def test_a_checkpoint_of_another_model_is_refused(finished):
    kept = finished[1].artifacts[checkpoint.NAME][1]
    with pytest.raises(BadInput, match=r"of another model: its weights have other shapes"):
        run({"model": "cnn", "epochs": 20}, **{checkpoint.NAME: kept})
    with pytest.raises(BadInput, match=r"trained with the optimizer Adam, this run has SGD"):
        run({"optimizer": "sgd", "epochs": 20}, **{checkpoint.NAME: kept})


def saved(tmp_path, *layers):
    keras = tensorflow().keras
    path = tmp_path / "mine.keras"
    keras.Sequential(list(layers)).save(path)
    return path


def test_a_model_of_ones_own_is_trained(tmp_path):
    layers = tensorflow().keras.layers
    path = saved(tmp_path, layers.Input((28, 28, 1)), layers.Flatten(), layers.Dense(10, activation="softmax"))
    metrics, sink = run({"model": str(path), "epochs": 5, "optimizer": "adam"})
    assert metrics["parameters"] == 7850
    assert metrics["held_out_accuracy"] > 0.6
    assert max(one["probability"] for one in json.loads(sink.artifacts["misclassified.json"][1])) <= 1


def test_a_model_that_brings_code_is_refused(tmp_path):
    layers = tensorflow().keras.layers
    path = saved(tmp_path, layers.Input((28, 28, 1)), layers.Lambda(lambda x: x), layers.Flatten(), layers.Dense(10))
    with pytest.raises(BadInput, match="it brings code of its own in a Lambda layer, which isn't run"):
        run({"model": str(path)})
