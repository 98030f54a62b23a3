"""A training that is cut along a grid of ranks: which part of the network a rank has, and one step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.cuts import data, tensor
from workshop.workloads.parallel.cuts.data import Exchange
from workshop.workloads.parallel.cuts.pipeline import PipelineStage, parts_of
from workshop.workloads.parallel.cuts.zero import ShardedUpdate
from workshop.workloads.parallel.grid import RankGrid
from workshop.workloads.parallel.network.layers import Array, Layer, Parameter, Sequential
from workshop.workloads.parallel.optimizer import Optimizer
from workshop.workloads.parallel.schedules import SCHEDULES


@dataclass(frozen=True)
class Cut:
    """How a training is cut. `zero`: 0 to 3; `micro_batches`: of each rank's share of the data."""

    grid: RankGrid
    schedule: str = "1f1b"
    micro_batches: int = 1
    exchange: Exchange = "fused"
    bucket: int = data.BUCKET
    zero: int = 0

    @property
    def parts(self) -> int:
        """The parts of the network."""
        return self.grid.pipeline * (2 if self.schedule == "interleaved" else 1)


class CutTraining:
    """This rank's part of a training. Its methods are collective."""

    def __init__(self, comm: MPI.Comm, cut: Cut, layers: Sequence[Layer], optimizer: Callable[[], Optimizer]) -> None:
        self.cut, grid = cut, cut.grid
        self.place = grid.place(comm.Get_rank())
        self.comms: dict[str, CountingCommunicator] = {
            axis: grid.communicator(comm, axis) for axis in ("data", "pipeline", "tensor")
        }
        pipeline = self.comms["pipeline"]
        parts = {
            number: Sequential(tensor.cut(part, self.comms["tensor"]))
            for number, part in enumerate(parts_of(layers, cut.parts))
            if number % pipeline.size == pipeline.rank
        }
        self.stage = PipelineStage(parts, cut.parts, pipeline)
        self.streams = SCHEDULES[cut.schedule](grid.pipeline, cut.micro_batches)
        self.parameters: list[Parameter] = self.stage.parameters
        self.optimizer = optimizer()
        self.sharded = (
            ShardedUpdate(self.parameters, self.comms["data"], self.optimizer, cut.zero) if cut.zero else None
        )

    @property
    def itemsize(self) -> int:
        """Bytes of a number of the network."""
        return int(self.parameters[0].gradient.itemsize)

    def own_examples(self, examples: Array) -> Array:
        """This rank's share of a batch [examples, ...]. Raises BadInput where it can't be divided evenly."""
        parts = self.cut.grid.data * self.cut.micro_batches
        if len(examples) % parts:
            raise BadInput(
                f"A batch of {len(examples)} can't be divided into {parts} micro-batches; take a multiple of {parts}."
            )
        return np.split(examples, self.cut.grid.data)[self.place[0]]

    def begin(self, inputs: Array) -> None:
        """Learn the shapes that pass between stages, from a batch like those of the training."""
        if self.sharded:
            self.sharded.gather()
        self.stage.measure_shapes(np.split(self.own_examples(inputs), self.cut.micro_batches)[0])
        for counting in self.comms.values():
            counting.reset()

    def expected_traffic(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """Calls and bytes of one step of this rank by the formulas: along each axis, by kind. After `begin`."""
        comms, micro = self.comms, self.cut.micro_batches
        if self.sharded:
            along_data: Mapping[str, tuple[int, int]] = self.sharded.traffic()
        else:
            calls = data.traffic(self.parameters, comms["data"].size, self.cut.exchange, self.cut.bucket)
            along_data = {"all-reduce": calls}
        pairs = [
            tensor.traffic(part.layers, self.stage.positions(number), self.itemsize, comms["tensor"].size)
            for number, part in self.stage.parts.items()
        ]
        along_tensor = {
            "all-reduce": (micro * sum(calls for calls, _ in pairs), micro * sum(size for _, size in pairs))
        }
        traffic = {"data": along_data, "pipeline": {"message": self.stage.traffic(micro)}, "tensor": along_tensor}
        return {axis: {kind: each for kind, each in kinds.items() if each[0]} for axis, kinds in traffic.items()}

    def step(self, inputs: Array, targets: Array) -> float:
        """One update with a batch that all ranks hold alike. Returns the mean loss, on all ranks."""
        for parameter in self.parameters:
            parameter.gradient[...] = 0
        if self.sharded:
            self.sharded.gather()
        micro = self.cut.micro_batches
        loss = self.stage.step(
            self.streams[self.comms["pipeline"].rank],
            np.split(self.own_examples(inputs), micro),
            np.split(self.own_examples(targets), micro),
            targets.size,
        )
        if self.sharded:
            self.sharded.step()
            self.sharded.release()
        else:
            data.add_up(self.parameters, self.comms["data"], self.cut.exchange, self.cut.bucket)
            self._update()
        # Stages before the last have no loss, and ranks of a tensor group have the same one.
        everywhere = self.comms["data"].comm.allreduce(self.comms["pipeline"].comm.allreduce(loss))
        return float(everywhere)

    def _update(self) -> None:
        weights = data.flatten([parameter.value for parameter in self.parameters])
        self.optimizer.step(weights, data.flatten([parameter.gradient for parameter in self.parameters]))
        data.scatter(weights, [parameter.value for parameter in self.parameters])

    def own_weights(self) -> Mapping[str, Array]:
        """This rank's weights by name: shares, where a layer is cut."""
        if self.sharded:
            self.sharded.gather()
        return {parameter.name: parameter.value for parameter in self.parameters}
