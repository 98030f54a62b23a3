"""What is told of OpenFL's rounds, whose lines come late, or never."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.workloads.federated.training.learner import Sums
from workshop.workloads.openfl import WORKLOAD, workspace
from workshop.workloads.openfl.results import OpenFLResults

SHARED, TUNED = "aggregated_model_validation/accuracy", "locally_tuned_model_validation/accuracy"


class Learner:
    """Scores a model by its first weight."""

    def load(self, vector):
        self.first = float(vector[0])

    def test(self, images, labels):
        return Sums(2.0, self.first * 4, 4)


@pytest.fixture
def told(tmp_path):
    sink = Memory()
    params = WORKLOAD.check({"collaborators": 2, "rounds": 2, "epochs": 3, "model": "dense"})
    about = [{"images": 10}, {"images": 20}]
    task = SimpleNamespace(measure="accuracy", held_out=(None, None), about=about, model=None, look=None)
    telling = OpenFLResults(RankContext(MPI.COMM_SELF, sink), params, task, Learner(), tmp_path)
    return telling, sink, tmp_path


def ended(telling, folder, number, score):
    """The aggregator's line of our round, and its model."""
    arrays = {name: np.full(3, score, np.float32) for name in workspace.names(telling.params, None)}
    np.savez(folder / f"round-{number}.npz", **arrays)
    line = {"round_number": number - 1, "elapsed_seconds": 2.0, "aggregator/train/loss": 0.5 / number}
    telling.read([line | {"aggregator/train/accuracy": 0.25 * number}], [])


def line(telling, one, theirs, shared, tuned=None):
    """A collaborator's line."""
    name = workspace.collaborator(one)
    said = {"round_number": theirs, f"{name}/{SHARED}": shared}
    if tuned is not None:
        said[f"{name}/{TUNED}"] = tuned
    telling.read([], [[said] if number == one else [] for number in (0, 1)])


def events(sink, name):
    return [(step, value) for _, event, step, value in sink.events if event == name]


def test_a_round_is_told_when_it_ends_and_own_accuracies_one_round_later(told):
    telling, sink, folder = told
    for one in (0, 1):
        line(telling, one, 0, 0.1, tuned=0.2 + 0.2 * one)
    ended(telling, folder, 1, 0.5)
    assert events(sink, "held-out accuracy") == [(1, 0.5)]
    assert events(sink, "loss") == [(1, 0.5)]
    assert events(sink, "accuracy") == [(1, 0.25)]
    assert events(sink, "own accuracy") == []
    assert events(sink, "institution 2 own accuracy") == [(1, 0.4)], "before it was averaged"
    assert events(sink, "institution 2 global accuracy") == [], "the first weights are nobody's result"

    line(telling, 1, 1, 0.8)
    assert events(sink, "institution 2 global accuracy") == [(1, 0.8)]
    assert events(sink, "own accuracy") == []
    line(telling, 0, 1, 0.6)
    assert events(sink, "own accuracy") == [(1, pytest.approx(0.7))]
    assert sink.done == (1, 2)
    assert sink.metrics == {"rounds": 1, "held_out_accuracy": 0.5}


def test_a_model_that_is_not_written_yet_is_waited_for(told):
    telling, sink, folder = told
    telling.read([{"round_number": 0, "elapsed_seconds": 1.0}], [])
    assert telling.number == 0 and not sink.events
    ended(telling, folder, 1, 0.5)
    assert telling.number == 1


def test_metrics_count_only_rounds_in_which_an_institution_took_part(told):
    results, sink, folder = told
    results.learner.parameters = 4
    results.task.held_out = ([0], [0])
    results.task.facts = {"data": "digits"}
    for number in (1, 2):
        ended(results, folder, number, 0.5)
    line(results, 0, 2, 0.9)
    metrics = results.metrics([2, 1])
    assert metrics["by_way"]["federated"]["images_read"] == 3 * (2 * 10 + 1 * 20)
    assert metrics["rounds"] == 2
    assert [described["own_score"] for described in metrics["institutions"]] == [
        {"federated": 0.9},
        {"federated": None},
    ], "of one that died nothing is made up"
    assert metrics["by_way"]["federated"]["own"] == [None, 0.9]
    assert events(sink, "own accuracy") == [(2, 0.9)]
