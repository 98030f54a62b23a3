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
        worst = 0.0
        for name, share in training.own_weights().items():
            whole = alone[name]
            for axis, (size, own) in enumerate(zip(whole.shape, share.shape, strict=True)):
                if size != own:
                    whole = np.split(whole, size // own, axis=axis)[training.comms["tensor"].rank]
            worst = max(worst, float(np.abs(share - whole).max() / np.abs(whole).max()))
        counted = {axis: comm_of_axis.counted() for axis, comm_of_axis in training.comms.items()}
        gathered = comm.gather((worst, counted))
        if comm.Get_rank() == 0:
            print(json.dumps({"worst": max(each for each, _ in gathered), "counted": gathered[0][1]}), flush=True)


main()
