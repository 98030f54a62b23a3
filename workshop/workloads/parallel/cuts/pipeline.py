"""Pipeline parallel: every stage has some of the layers, and micro-batches pass through the stages.

A stage follows its stream of instructions and knows nothing of the schedule behind it.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator, Exchanges
from workshop.workloads.parallel.network.layers import (
    Array,
    Cost,
    Layer,
    Parameter,
    Saved,
    Sequential,
    Shape,
    buffers,
    cross_entropy,
)  # fmt: skip
from workshop.workloads.parallel.schedules import Kind, Layout, StageSpan, Stream, splits

TAGS = {"forward": 0, "backward": 1}
Key = tuple[str, int, int]  # direction, micro-batch and part


def parts_of(
    layers: Sequence[Layer], parts: int, operations: Sequence[int], counts: Sequence[int] = ()
) -> list[Sequence[Layer]]:
    """The layers in so many parts: of `counts`, or so that the part with the most `operations` has as few as possible.
    Raises BadInput where it can't be done."""
    if len(layers) < parts:
        raise BadInput(f"{len(layers)} layers can't be divided into {parts} parts; take fewer stages or more layers.")
    if counts and (len(counts) != parts or sum(counts) != len(layers) or min(counts) < 1):
        raise BadInput(
            f"Parts of {', '.join(map(str, counts))} layers don't fit: the network has {len(layers)} layers and the "
            f"pipeline {parts} parts of at least one layer."
        )
    ends = list(itertools.accumulate(counts)) if counts else _balanced(operations, parts)
    return [layers[begin:end] for begin, end in itertools.pairwise([0, *ends])]


def _balanced(operations: Sequence[int], parts: int) -> list[int]:
    """The ends of parts whose largest sum of operations is as small as possible; of several, the most equal ones."""
    sums = [0, *itertools.accumulate(operations)]
    best: dict[tuple[int, int], tuple[int, int, tuple[int, ...]]] = {
        (0, 0): (0, 0, ())
    }  # by parts and layers: the largest sum, the sum of squares, the ends
    for part in range(1, parts + 1):
        for end in range(part, len(operations) - (parts - part) + 1):
            best[part, end] = min(
                (max(most, size := sums[end] - sums[begin]), squares + size**2, (*ends, end))
                for begin in range(part - 1, end)
                if (part - 1, begin) in best
                for most, squares, ends in [best[part - 1, begin]]
            )
    return list(best[parts, len(operations)][2])


@dataclass
class PipelineStage:
    """One stage: its `parts` of the network by number, which are its share of the `layout`. `pace`: the least seconds
    of each kind of work; a stage that has done its work sooner waits without holding a core."""

    parts: Mapping[int, Sequential]
    layout: Layout
    comm: CountingCommunicator
    pace: Mapping[Kind, float] = field(default_factory=dict)
    observe: bool = False  # count the activations of each step
    shapes: list[tuple[Shape, np.dtype]] = field(default_factory=list)  # of the inputs of each part, the last outputs
    spans: list[StageSpan] = field(default_factory=list)  # of the last step, in seconds since its beginning
    activations: int = 0  # most bytes of activations at once

    @property
    def parameters(self) -> list[Parameter]:
        return [parameter for part in self.parts.values() for parameter in part.parameters]

    @property
    def layers(self) -> list[Layer]:
        """The layers of all parts, each once."""
        return list({id(layer): layer for part in self.parts.values() for layer in part.layers}.values())

    def learn_shapes(
        self, example: Shape, dtype: np.dtype, numbers: np.dtype, of_parts: Callable[[int, Shape], Shape]
    ) -> None:
        """Set the shapes of the arrays that pass between parts: inputs of `dtype`, all others of `numbers`.
        `of_parts(part, inputs)`: the shape of its outputs."""
        self.shapes = [(example, dtype)]
        for part in range(self.layout.parts):
            self.shapes.append((of_parts(part, self.shapes[part][0]), numbers))

    def costs(self) -> Mapping[int, Cost]:
        """The cost of each of this stage's parts for one micro-batch."""
        return {
            number: part.cost(self._inputs(number)[0], self._outputs(number)[1].itemsize)
            for number, part in self.parts.items()
        }

    def _inputs(self, number: int) -> tuple[Shape, np.dtype]:
        return self.shapes[number % self.layout.parts]

    def _outputs(self, number: int) -> tuple[Shape, np.dtype]:
        return self.shapes[number % self.layout.parts + 1]

    def traffic(self, micro_batches: int) -> Exchanges:
        """The messages of a step: the outputs of each part to the next part, and the gradients of its inputs to the
        part before it."""
        total = Exchanges()
        for number in self.parts:
            messages = [] if self.layout.is_last(number) else [self._outputs(number)]
            for shape, dtype in [*messages, *([] if self.layout.is_first(number) else [self._inputs(number)])]:
                size = math.prod(shape) * dtype.itemsize
                total += Exchanges.for_calls(self.comm, "message", size, micro_batches // self.layout.replicas)
        return total

    def step(self, stream: Stream, inputs: Sequence[Array], targets: Sequence[Array], examples: int) -> float:
        """Follow the stream for micro-batches of `inputs` and `targets`. Returns the loss of the last part, 0 on other
        stages; gradients are added to the parameters. `examples`: targets of all micro-batches and ranks."""
        began, total_loss, self.spans = time.perf_counter(), 0.0, list[StageSpan]()
        arrived: dict[Key, Array] = {}
        leaving: dict[Key, Array] = {}
        under_way: dict[tuple[int, int], Saved] = {}
        pending: dict[tuple[int, int], list[Callable[[], None]]] = {}
        split = splits([stream])
        for instruction in stream:
            micro, part, begin = instruction.micro, instruction.part, time.perf_counter() - began
            key = (instruction.direction, micro, part)
            match instruction.kind:
                case "receive":
                    forward = instruction.direction == "forward"
                    source = self.layout.stage(part - 1 if forward else part + 1)
                    like = self._inputs(part) if forward else self._outputs(part)
                    arrived[key] = self.comm.receive(like, source, self._tag(*key))
                case "send":
                    self.comm.send(leaving.pop(key), self.layout.stage(part), self._tag(*key))
                case "forward":
                    entering = inputs[micro] if self.layout.is_first(part) else arrived.pop(key)
                    outputs, under_way[micro, part] = self.parts[part].forward(entering)
                    if self.layout.is_last(part):
                        loss, arrived["backward", micro, part] = cross_entropy(outputs, targets[micro], examples)
                        total_loss += loss
                    else:
                        self._pass_on(("forward", micro, part + 1), outputs, arrived, leaving)
                    if self.observe:
                        self.activations = max(self.activations, buffers(list(under_way.values())))
                case "backward":
                    gradient = arrived.pop(("backward", micro, part))
                    later = pending.setdefault((micro, part), []) if split else None
                    for parameter in self.parts[part].parameters:
                        parameter.pending = later
                    of_inputs = self.parts[part].backward(gradient, under_way[micro, part])
                    if not split:
                        del under_way[micro, part]
                    if not self.layout.is_first(part):
                        self._pass_on(("backward", micro, part - 1), of_inputs, arrived, leaving)
                case "weights":
                    for work in pending.pop((micro, part)):
                        work()
                    del under_way[micro, part]
            pace = self.pace.get(instruction.kind, 0.0)
            if pace:
                time.sleep(max(0.0, begin + pace - (time.perf_counter() - began)))
            self.spans.append(StageSpan(self.comm.rank, instruction, begin, time.perf_counter() - began))
        self.comm.finish()
        return total_loss

    def _pass_on(self, key: Key, array: Array, arrived: dict[Key, Array], leaving: dict[Key, Array]) -> None:
        """To another part: of this stage, or by the send that follows."""
        (arrived if self.layout.stage(key[2]) == self.comm.rank else leaving)[key] = array

    def _tag(self, direction: str, micro: int, part: int) -> int:
        return (micro * self.layout.parts + part % self.layout.parts) * 2 + TAGS[direction]
