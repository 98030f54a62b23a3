"""The lab's federation through OpenFL's Python API, and federated evaluation by that and by `fx`."""

from __future__ import annotations

import json
import os
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

from tests import openfl
from tests.support import limit, until
from workshop.core.ports import free_port
from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.registry import workload
from workshop.workloads.federated.training.task import digits
from workshop.workloads.mnist.data import images
from workshop.workloads.openfl import WORKLOAD, workspace
from workshop.workloads.openfl.fx import Fx
from workshop.workloads.openfl.parties import Party, certify

pytestmark = [pytest.mark.real, pytest.mark.exhaustive, pytest.mark.timeout(limit(300))]

VALUES = {"data": "digits", "model": "dense", "collaborators": 2, "rounds": 2, "epochs": 1, "images": 400}
SHARED = "aggregator/aggregated_model_validation/accuracy"
SAME = 1e-4  # sums are taken in another order, by another release of TensorFlow


@pytest.fixture
def lab(workshop_home):
    """OpenFL's Python, the params, the images of our own run, and its learning task with the first weights."""
    params, files = WORKLOAD.check(VALUES), images.find("digits")
    tensorflow().keras.utils.set_random_seed(params.seed)
    task = digits(RankContext(MPI.COMM_SELF, Memory(), files), params.as_federated(), range(2))
    initial = workspace.weights(params, task.model)
    return SimpleNamespace(
        python=openfl.use(workshop_home), params=params, files=files, task=task, initial=initial, silos=task.silos
    )


def rounds(folder):
    return [json.loads(line) for line in (folder / "logs" / "aggregator_metrics.txt").read_text().splitlines()]


def test_the_python_api_learns_what_our_own_run_learns_and_evaluates_it(lab, tmp_path):
    folder = tmp_path / "federation"
    workspace.write_workspace(folder, workspace.plan(lab.params, free_port()), lab.initial, "")
    for number, silo in lab.silos.items():
        data = folder / "data" / workspace.collaborator(number)
        data.mkdir()
        workspace.write_images(data, silo, number)

    def by_python(word):
        command = [str(lab.python), str(workspace.template().parent / "by_python.py"), word]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit(120))

    refusal = by_python("evaluate")
    assert refusal.returncode == 1 and "train first" in refusal.stderr and "Traceback" not in refusal.stderr
    assert by_python("train").returncode == 0
    first, second, last = rounds(folder)
    ours = workload("federated").load()(RankContext(MPI.COMM_SELF, Memory(), lab.files), lab.params.as_federated())
    assert second["aggregator/train/loss"] == pytest.approx(ours["loss"], abs=SAME)
    counts = [institution["validation"] for institution in ours["institutions"]]
    scores = [institution["own_score"]["federated"] for institution in ours["institutions"]]
    assert last[SHARED] == pytest.approx(np.average(scores, weights=counts), abs=SAME)
    assert by_python("evaluate").returncode == 0
    *_, evaluation = rounds(folder)
    assert len(rounds(folder)) == 4
    assert evaluation[SHARED] == last[SHARED] != first[SHARED]
    assert not any("train" in name for name in evaluation)


def test_fx_evaluates_without_training(lab, tmp_path):
    fx = Fx(lab.python, tmp_path, os.sched_getaffinity(0))
    try:
        aggregator = Party(fx, tmp_path / "aggregator", "aggregator", "the aggregator")
        collaborators = []
        for number, silo in lab.silos.items():
            name = workspace.collaborator(number)
            collaborators.append(Party(fx, tmp_path / name, name, f"institution {number + 1}"))
            workspace.write_images(tmp_path / name, silo, number)
        workspace.write_workspace(aggregator.here, workspace.plan(lab.params, free_port()), lab.initial, "")
        certify(fx, aggregator, collaborators, [])
        aggregator.take_part("fx aggregator start --task_group evaluation")

        def listens():
            aggregator.read()
            return aggregator.listens

        until(listens, 60, "the aggregator to listen")
        for party in collaborators:
            party.take_part(f"fx collaborator start -n {party.name}")
        everybody = [aggregator, *collaborators]

        until(lambda: all(party.process.code is not None for party in everybody), 120, "everybody to end")
    finally:
        fx.close()
    assert [party.process.code for party in everybody] == [0, 0, 0]
    (evaluation,) = rounds(aggregator.here)
    own = [(silo.own_images, silo.own_labels) for silo in lab.silos.values()]
    right = [lab.task.model(pictures).numpy().argmax(axis=1) == labels for pictures, labels in own]
    assert evaluation[SHARED] == pytest.approx(np.concatenate(right).mean(), abs=SAME)
    assert not any("train" in name for name in evaluation)
