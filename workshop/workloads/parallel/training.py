"""A training that is cut along a grid of ranks: which part of the network a rank has, and one step of it.

The same object without MPI is the plan of a rank: its traffic and its memory by formulas.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import Exchanges, RankGrid
from workshop.workloads.parallel.cuts import data, experts, sequence, spatial, tensor
from workshop.workloads.parallel.cuts.data import Exchange
from workshop.workloads.parallel.cuts.pipeline import PipelineStage, parts_of
from workshop.workloads.parallel.cuts.recompute import recomputed
from workshop.workloads.parallel.cuts.zero import Adam, ShardedLayer, Update, sharded
from workshop.workloads.parallel.network.layers import Array, Layer, Parameter, Sequential, Shape
from workshop.workloads.parallel.schedules import SCHEDULES, Kind, Layout, Streams, check, most_kept, splits

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Cut:
    """How a training is cut. `zero`: 0 to 3; `micro_batches`: of each rank's share of the data; `layers`: of each part
    of the pipeline, empty for about equal numbers; `streams`: a schedule written by hand. `halo` and `gather` are
    faults to study when they are False."""

    grid: RankGrid
    schedule: str = "1f1b"
    micro_batches: int = 1
    exchange: Exchange = "fused"
    bucket: int = data.BUCKET
    zero: int = 0
    recompute: bool = False
    layers: Sequence[int] = ()
    pace: Mapping[Kind, float] = field(default_factory=dict)
    streams: Streams | None = None
    halo: bool = True
    gather: bool = True

    @property
    def puts_gradients_off(self) -> bool:
        """Whether the gradients of the weights are instructions by themselves."""
        return self.schedule == "zero-bubble" or splits(self.streams or ())

    @property
    def parts(self) -> int:
        """The parts of the network."""
        return self.grid.pipeline * (2 if self.schedule == "interleaved" else 1)

    @property
    def layout(self) -> Layout:
        """Which stage has which parts."""
        return Layout(self.grid.pipeline, self.parts, 2 if self.schedule == "bidirectional" else 1)

    def instructions(self) -> Streams:
        """The stream of each stage. Raises BadInput where the schedule can't work."""
        streams = self.streams or SCHEDULES[self.schedule](self.grid.pipeline, self.micro_batches)
        check(streams, self.parts, self.micro_batches, self.layout.replicas)
        return streams


@dataclass(frozen=True)
class MemoryLedger:
    """Bytes of one rank. `buffers`: the largest array that an exchange takes, or that a layer needs only while it
    computes."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    buffers: int = 0

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer + self.activations + self.buffers

    def as_json(self) -> dict[str, int]:
        return asdict(self)


class CutTraining:
    """A rank's part of a training. Its methods are collective; a plan (without `comm`) has formulas only. `shape` and
    `dtype`: of the inputs of all ranks' examples of one step. Raises BadInput where the cut can't be made."""

    def __init__(
        self,
        comm: MPI.Comm | None,
        cut: Cut,
        network: Callable[[], Sequence[Layer]],
        optimizer: Callable[[], Adam],
        shape: Shape,
        dtype: np.dtype,
        rank: int = 0,
    ) -> None:
        self.cut, grid = cut, cut.grid
        _refuse(cut)
        self.rank = rank if comm is None else comm.Get_rank()
        self.place = grid.place(self.rank)
        self.comm, self.comms = comm, grid.communicators(comm, self.rank)
        self.traffic = self.comms["data"].traffic  # of all axes, counted
        self.waited = 0.0  # seconds at the end of the last step for ranks that finished later
        pipeline = self.comms["pipeline"]
        self.comms["replicas"] = pipeline.mirrored(cut.layout.replicas)
        self.streams = cut.instructions()
        share, layers, operations = self.own_shape(shape), self._cut_layers(network()), list[int]()
        # Of the whole network: a stage can be without weights.
        self.dtype, outputs = Sequential(layers).parameters[0].dtype, share
        for layer in layers:
            cost = layer.cost(outputs, self.dtype.itemsize)
            operations.append(cost.operations)
            outputs = cost.outputs
        full = parts_of(layers, cut.parts, operations, cut.layers)
        numbers = cut.layout.numbers(pipeline.rank)
        local = {number % cut.parts: full[number % cut.parts] for number in numbers}
        if cut.zero >= 2:
            local = {n: sharded(part, self.comms["data"], self.comms["layer"], cut.zero) for n, part in local.items()}
        # A stage in the middle has the same part for both replicas, and so shares its weights.
        parts = {number: Sequential(local[number % cut.parts]) for number in numbers}
        self.stage = PipelineStage(parts, cut.layout, pipeline, cut.pace)
        self.parameters = list({id(parameter): parameter for parameter in self.stage.parameters}.values())
        self.stage.learn_shapes(
            share,
            dtype,
            self.dtype,
            lambda part, inputs: Sequential(full[part]).cost(inputs, self.dtype.itemsize).outputs,
        )
        self.optimizer = optimizer()
        self.update: Update | None = None
        if comm is not None:
            along = self.comms["data"] if cut.zero == 1 else None
            self.update = Update(self.parameters, self.dtype, self.optimizer, along)

    def _cut_layers(self, layers: Sequence[Layer]) -> Sequence[Layer]:
        grid, group = self.cut.grid, self.comms["layer"]
        if grid.layer > 1:
            match grid.kind:
                case "sequence":
                    layers = sequence.cut(layers, group)
                case "spatial":
                    layers = spatial.cut(layers, group, self.cut.halo)
                case "experts":
                    layers = experts.cut(layers, group)
                case _:
                    layers = tensor.cut(layers, group)
            _check_something_was_cut(layers, grid)
        return recomputed(layers) if self.cut.recompute else layers

    def own_shape(self, shape: Shape) -> Shape:
        """The shape of this rank's micro-batch. Raises BadInput where the inputs can't be divided."""
        micro = self.cut.grid.example_shares * self.cut.micro_batches
        if shape[0] % micro:
            raise BadInput(
                f"A batch of {shape[0]} can't be divided into {micro} micro-batches; take a multiple of {micro}."
            )
        example = np.broadcast_to(np.zeros(()), (shape[0] // micro, *shape[1:]))
        return self._own_part(example, inputs=True).shape

    @property
    def share(self) -> int:
        """The number of this rank's share of the examples."""
        data, _, layer = self.place
        return data * self.cut.grid.layer + layer if self.cut.grid.kind == "experts" else data

    def own_examples(self, examples: Array, inputs: bool) -> list[Array]:
        """This rank's micro-batches of a batch that all ranks hold alike."""
        share = np.split(examples, self.cut.grid.example_shares)[self.share]
        # Copies, since a layer that keeps a view of its inputs would keep the examples of all micro-batches.
        return [self._own_part(micro, inputs).copy() for micro in np.split(share, self.cut.micro_batches)]

    def _own_part(self, examples: Array, inputs: bool) -> Array:
        """This rank's stripe of images, or the targets of its positions; all of the examples for other cuts."""
        kind, group = self.cut.grid.kind, self.comms["layer"]
        if kind == "spatial" and inputs:
            return spatial.own_stripe(examples, group)
        if kind == "sequence":
            local = sequence.own_positions(examples, group)  # the embedding takes all tokens
            return examples if inputs else local
        return examples

    def step(self, inputs: Array, targets: Array) -> float:
        """One update with a batch that all ranks hold alike. Returns the mean loss, on all ranks."""
        assert self.update is not None and self.comm is not None, "a plan takes no steps"
        cut, update, partial = self.cut, self.update, self._partial()
        update.clear()
        loss = self.stage.step(
            self.streams[self.comms["pipeline"].rank],
            self.own_examples(inputs, inputs=True),
            self.own_examples(targets, inputs=False),
            targets.size,
        )
        data.add_up(partial, self.comms["layer"])
        if cut.zero == 0:
            data.add_up(self.parameters, self.comms["data"], cut.exchange, cut.bucket)
        data.add_up(self.parameters, self.comms["replicas"], cut.exchange, cut.bucket)
        update.step(cut.gather)
        if cut.zero == 2 and cut.gather:
            for layer in self._sharded():
                layer.gather()
        began = time.perf_counter()
        mean = self._mean(loss)
        self.waited = time.perf_counter() - began
        return mean

    def expected_traffic(self) -> Exchanges:
        """The calls and bytes of one step of this rank by the formulas."""
        cut, micro = self.cut, self.cut.micro_batches
        total = self.stage.traffic(micro)
        for cost in self.stage.costs().values():
            total += (cost.forward + cost.backward) * (micro // cut.layout.replicas)
        total += data.traffic(self._partial(), self.comms["layer"])
        total += data.traffic(self.parameters, self.comms["replicas"], cut.exchange, cut.bucket)
        if cut.zero == 0:
            return total + data.traffic(self.parameters, self.comms["data"], cut.exchange, cut.bucket)
        if cut.zero == 1:
            comm = self.comms["data"]
            size = -(-self._count() // comm.size) * comm.size * self.dtype.itemsize
            total += Exchanges.for_calls(comm, "reduce-scatter", size)
            return total + Exchanges.for_calls(comm, "all-gather", size, int(cut.gather))
        for layer in self._sharded() if cut.gather else []:
            total += layer.after_update()
        return total

    def planned_memory(self) -> MemoryLedger:
        """The bytes of this rank by the formulas (Rajbhandari et al., section 3.1, and the cost of each layer)."""
        itemsize, count = self.dtype.itemsize, self._count()
        stream, costs = self.streams[self.comms["pipeline"].rank], self.stage.costs()
        full = sum(parameter.size for layer in self._sharded() for parameter in layer.full)
        state = -(-count // self.cut.grid.data) if self.cut.zero == 1 else count
        return MemoryLedger(
            weights=(full if self.cut.zero == 2 else count) * itemsize,
            gradients=count * itemsize,
            optimizer=state * itemsize * self.optimizer.states,
            activations=most_kept(stream, {number: cost.activations for number, cost in costs.items()}),
            buffers=max(self.expected_traffic().largest, *(cost.transient for cost in costs.values())),
        )

    def counted_memory(self) -> MemoryLedger:
        """The bytes of the arrays that this rank has had, after a step with `stage.observe`."""
        assert self.update is not None, "a plan has no arrays"
        full = sum(parameter.value.nbytes for layer in self._sharded() for parameter in layer.full)
        transient = max(map(_transient, self.stage.layers), default=0)
        return MemoryLedger(
            weights=full if self.cut.zero == 2 else self.update.weights.nbytes,
            gradients=self.update.gradients.nbytes,
            optimizer=self.optimizer.nbytes,
            activations=self.stage.activations,
            buffers=max(self.traffic.largest, transient),
        )

    def own_weights(self) -> Mapping[str, tuple[Array, int | None]]:
        """This rank's weights by name, and the axis along which each is cut. Counts no traffic. Collective."""
        weights: dict[str, tuple[Array, int | None]] = {}
        for layer in self._sharded():
            if self.cut.zero == 3:
                with self._uncounted():
                    layer.gather()
            weights |= {parameter.name: (parameter.value, parameter.axis) for parameter in layer.full}
            layer.drop()
        if self.cut.zero >= 2:
            return weights
        return {parameter.name: (parameter.value, parameter.axis) for parameter in self.parameters}

    def evaluate(self, inputs: Array, targets: Array) -> float:
        """The mean loss on other examples, with the weights as they are. Counts no traffic. Collective."""
        stream = self.streams[self.comms["pipeline"].rank]
        messages = [step for step in stream if step.kind in ("send", "receive") and step.direction == "forward"]
        forward = [step for step in stream if step.kind == "forward" or step in messages]
        examples = self.own_examples(inputs, inputs=True), self.own_examples(targets, inputs=False)
        with self._uncounted():
            loss = self.stage.step(forward, *examples, targets.size)
        return self._mean(loss)

    @contextmanager
    def _uncounted(self) -> Iterator[None]:
        """Exchanges that are no part of the training: they aren't counted."""
        counted = self.traffic.calls.copy(), self.traffic.bytes.copy()
        yield
        self.traffic.calls, self.traffic.bytes = counted

    def _mean(self, loss: float) -> float:
        """The mean loss of all ranks. Only last stages have one; where ranks of a group have the same targets, all of
        them have the same one."""
        assert self.comm is not None, "a plan has no loss"
        grid = self.cut.grid
        return float(self.comm.allreduce(loss) / (1 if grid.divides_targets else grid.layer))

    def _partial(self) -> list[Parameter]:
        return [parameter for parameter in self.parameters if parameter.partial]

    def _count(self) -> int:
        return sum(parameter.size for parameter in self.parameters)

    def _sharded(self) -> list[ShardedLayer]:
        return [layer for layer in self.stage.layers if isinstance(layer, ShardedLayer)]


def _refuse(cut: Cut) -> None:
    """Raises BadInput for combinations that this library doesn't have."""
    if cut.zero and cut.grid.data == 1:
        raise BadInput(
            f"ZeRO divides what ranks hold alike that divide the data, and in the grid {cut.grid} no ranks do; take "
            "data:2 or more."
        )
    if cut.zero >= 2 and cut.puts_gradients_off:
        raise BadInput(f"ZeRO 2 and 3 need a layer's gradients at once, and {cut.schedule} puts them off; take ZeRO 1.")


def _check_something_was_cut(layers: Sequence[Layer], grid: RankGrid) -> None:
    """Raises BadInput where no layer of the network can be divided in this way."""
    divided = any(parameter.axis is not None or parameter.partial for parameter in Sequential(layers).parameters)
    if not divided:
        networks = {"experts": "a transformer with experts", "spatial": "the convolutional network"}
        network = networks.get(grid.kind, "the transformer")
        raise BadInput(f"No layer of this network can be cut by {grid.kind}; take {network}, or another cut.")


def _transient(layer: Layer) -> int:
    local: int = getattr(layer, "transient", 0)
    inner = getattr(layer, "inner", None)
    return local + (_transient(inner) if inner is not None else 0)


def worst_difference(training: CutTraining, alone: CutTraining) -> float:
    """The largest relative difference of a weight of this rank from that of one process, relative to the largest weight
    of its array. Collective over the ranks of `training`."""
    full, group = alone.own_weights(), training.comms["layer"]
    worst = 0.0
    for name, (local, axis) in training.own_weights().items():
        expected = full[name][0]
        if axis is not None:
            expected = np.split(expected, group.size, axis=axis)[group.rank]
        worst = max(worst, float(np.abs(local - expected).max() / max(np.abs(expected).max(), 1e-30)))
    return worst
