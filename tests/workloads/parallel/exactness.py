"""Run by mpirun: trains with a cut and in one process, and prints by how much the weights differ."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.workloads.parallel import ParallelParams, settings
from workshop.workloads.parallel.communicator import RankGrid
from workshop.workloads.parallel.cuts.zero import Adam
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.settings import batch
from workshop.workloads.parallel.training import Cut, CutTraining, worst_difference

STEPS = 50
TEXT = TransformerShape(vocabulary=13, length=8, width=16, heads=4, blocks=2)
EXAMPLES = 16


def build(network: str, cut: Cut, comm: MPI.Comm) -> CutTraining:
    draw = Draw(1)
    if network == "convolutional":
        layers, shape, dtype = (
            (lambda: networks.convolutional([1, 4, 8, 4], 3, draw)),
            (EXAMPLES, 8, 6, 1),
            np.dtype(float),
        )
    elif network == "perceptron":
        layers, shape, dtype = (lambda: networks.perceptron([12, 16, 16, 3], draw)), (EXAMPLES, 12), np.dtype(float)
    else:
        text = replace(TEXT, experts=4 if network == "experts" else 0)
        layers, shape, dtype = (lambda: networks.transformer(text, draw)), (EXAMPLES, TEXT.length), np.dtype(np.int64)
    return CutTraining(comm, cut, layers, lambda: Adam(1e-3), shape, dtype)


def train(network: str, cut: Cut, comm: MPI.Comm) -> CutTraining:
    training = build(network, cut, comm)
    stream = np.random.default_rng(5)
    for _ in range(STEPS):
        if network in ("convolutional", "perceptron"):
            size = (EXAMPLES, 8, 6, 1) if network == "convolutional" else (EXAMPLES, 12)
            inputs, targets = stream.standard_normal(size), stream.integers(0, 3, EXAMPLES)
        else:
            inputs, targets = (stream.integers(0, TEXT.vocabulary, (EXAMPLES, TEXT.length)) for _ in range(2))
        training.stage.observe = True
        training.step(inputs, targets)
    return training


def drawn(values: dict[str, Any], comm: MPI.Comm) -> tuple[CutTraining, CutTraining]:
    """The workload's own trainings with these params: cut, and in one process."""
    params = ParallelParams(**values)
    trainings = (
        settings.training(params, settings.cut_of(params, comm.Get_size()), comm),
        settings.training(params, settings.ALONE, MPI.COMM_SELF),
    )
    for training in trainings:
        for step in range(params.steps):
            training.stage.observe = True
            training.step(*batch(params, step))
    return trainings


def main() -> None:
    comm = MPI.COMM_WORLD
    alone: dict[str, CutTraining] = {}
    for document in json.loads(sys.argv[1]):
        if "params" in document:
            steps = document["params"]["steps"]
            training, reference = drawn(document["params"], comm)
        else:
            steps = STEPS
            network, grid = (
                document.pop("network", "transformer"),
                RankGrid.parse(document.pop("grid"), comm.Get_size()),
            )
            if network not in alone:
                alone[network] = train(network, Cut(RankGrid()), MPI.COMM_SELF)
            training, reference = train(network, Cut(grid, **document), comm), alone[network]
        counted, expected = training.traffic, training.expected_traffic() * steps
        planned, held = training.planned_memory(), training.counted_memory()
        answer = {
            "same traffic": (counted.calls, counted.bytes) == (expected.calls, expected.bytes),
            "counted": counted.as_json(),
            "expected": expected.as_json(),
            "planned": planned.as_json(),
            "held": held.as_json(),
            "worst": worst_difference(training, reference),
        }
        gathered = comm.gather(answer)
        if comm.Get_rank() == 0:
            print(json.dumps(gathered), flush=True)


main()
