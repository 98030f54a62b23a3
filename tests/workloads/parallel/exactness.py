"""Run by mpirun: trains with a cut and in one process, and prints by how much the weights differ."""

from __future__ import annotations

import json
import sys

import numpy as np
from mpi4py import MPI

from workshop.workloads.parallel.grid import RankGrid
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.optimizer import Adam
from workshop.workloads.parallel.training import Cut, CutTraining

STEPS = 50
SHAPE = TransformerShape(vocabulary=13, length=6, width=16, heads=4, blocks=2)


def train(comm: MPI.Comm, cut: Cut) -> CutTraining:
    training = CutTraining(comm, cut, networks.transformer(SHAPE, Draw(1)), lambda: Adam(1e-3))
    stream = np.random.default_rng(5)
    for step in range(STEPS):
        inputs, targets = (stream.integers(0, SHAPE.vocabulary, (16, SHAPE.length)) for _ in range(2))
        if step == 0:
            training.begin(inputs)
        training.step(inputs, targets)
    return training


def main() -> None:
    comm = MPI.COMM_WORLD
    alone = train(MPI.COMM_SELF, Cut(RankGrid())).own_weights()
    for document in json.loads(sys.argv[1]):
        grid = RankGrid.parse(document.pop("grid"), comm.Get_size())
        training = train(comm, Cut(grid, **document))
        traffic = {
            axis: counting.counted() for axis, counting in training.comms.items()
        }  # before weights are collected
        worst = 0.0
        for name, share in training.own_weights().items():
            whole = alone[name]
            for axis, (size, own) in enumerate(zip(whole.shape, share.shape, strict=True)):
                if size != own:
                    whole = np.split(whole, size // own, axis=axis)[training.comms["tensor"].rank]
            worst = max(worst, float(np.abs(share - whole).max() / np.abs(whole).max()))
        expected = training.expected_traffic()
        differences = [
            abs(count - STEPS * expected[axis].get(kind, (0, 0))[at])
            for axis, counting in training.comms.items()
            for kind, counts in traffic[axis].items()
            for at, count in enumerate(counts)
        ]
        missing = [kind for axis in expected for kind in expected[axis] if kind not in traffic[axis]]
        gathered = comm.gather((worst, sum(differences), missing))
        if comm.Get_rank() == 0:
            worst, different = max(each[0] for each in gathered), sum(each[1] for each in gathered)
            answer = {"worst": worst, "different": different, "missing": gathered[0][2], "counted": traffic}
            print(json.dumps(answer), flush=True)


main()
