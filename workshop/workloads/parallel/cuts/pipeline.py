"""Pipeline parallel: every stage has some of the layers, and micro-batches pass through the stages.

A stage follows its stream of instructions and knows nothing of the schedule behind it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workshop.core.errors import BadInput
from workshop.workloads.parallel.communicator import CountingCommunicator
from workshop.workloads.parallel.network.layers import Array, Layer, Parameter, Saved, Sequential, cross_entropy
from workshop.workloads.parallel.schedules import Span, Stream

TAGS = {"forward": 0, "backward": 1}
Waiting = dict[tuple[str, int, int], Array]  # arrays by direction, micro-batch and part


def parts_of(layers: Sequence[Layer], parts: int) -> list[Sequence[Layer]]:
    """The layers in so many parts of about equal numbers. Raises BadInput where there are fewer layers than parts."""
    if len(layers) < parts:
        raise BadInput(f"{len(layers)} layers can't be divided into {parts} parts; take fewer stages or more layers.")
    ends = [round(len(layers) * part / parts) for part in range(parts + 1)]
    return [layers[begin:end] for begin, end in itertools.pairwise(ends)]


@dataclass
class PipelineStage:
    """One stage: its `parts` of the network by number, of `count` in all."""

    parts: dict[int, Sequential]
    count: int
    comm: CountingCommunicator
    shapes: dict[int, tuple[tuple[int, ...], np.dtype]] = field(default_factory=dict)  # of a part's inputs
    spans: list[Span] = field(default_factory=list)  # of the last step, in seconds since its beginning

    @property
    def parameters(self) -> list[Parameter]:
        return [parameter for part in self.parts.values() for parameter in part.parameters]

    def measure_shapes(self, example: Array) -> None:
        """Learn the shapes of what passes between parts, with one micro-batch. Collective, once before the training."""
        self.shapes[0] = example.shape, example.dtype
        for number in range(self.count):
            owner, following = number % self.comm.size, (number + 1) % self.comm.size
            last = number + 1 == self.count
            if owner == self.comm.rank:
                outputs, _ = self.parts[number].forward(example if number == 0 else np.zeros(*self.shapes[number]))
                self.shapes[number + 1] = outputs.shape, outputs.dtype
                if not last and following != owner:
                    self.comm.comm.send(self.shapes[number + 1], dest=following)
            elif following == self.comm.rank and not last:
                self.shapes[number + 1] = self.comm.comm.recv(source=owner)

    def positions(self, part: int) -> int:
        """How many vectors a micro-batch has at a part's inputs; tokens become vectors."""
        shape, dtype = self.shapes[part]
        return int(np.prod(shape if np.issubdtype(dtype, np.integer) else shape[:-1]))

    def traffic(self, micro_batches: int) -> tuple[int, int]:
        """Messages that this stage sends in a step, and their bytes: the outputs of each part to the next part, and the
        gradients of its inputs to the part before it."""
        if self.comm.size == 1:
            return 0, 0
        sent = [part + 1 for part in self.parts if part + 1 < self.count] + [part for part in self.parts if part > 0]
        size = sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in map(self.shapes.__getitem__, sent))
        return micro_batches * len(sent), micro_batches * size

    def step(self, stream: Stream, inputs: Sequence[Array], targets: Sequence[Array], examples: int) -> float:
        """Follow the stream for micro-batches of `inputs` and `targets`. Returns the loss of the last part, 0 on other
        stages; gradients are added to the parameters. `examples`: targets of all micro-batches and ranks."""
        loss, began = 0.0, time.perf_counter()
        arrived: Waiting = {}
        kept: dict[tuple[int, int], Saved] = {}
        leaving: Waiting = {}
        self.spans = []
        for instruction in stream:
            micro, part, begin = instruction.micro, instruction.part, time.perf_counter() - began
            key = (instruction.of, micro, part)
            match instruction.kind:
                case "receive":
                    forward = instruction.of == "forward"
                    source = (part - 1 if forward else part + 1) % self.comm.size
                    like = self.shapes[part] if forward else self.shapes[part + 1]
                    arrived[key] = self.comm.receive(like, source, self._tag(instruction.of, micro, part))
                case "send":
                    target = part % self.comm.size
                    self.comm.send(leaving.pop(key), target, self._tag(instruction.of, micro, part))
                case "forward":
                    entering = inputs[micro] if part == 0 else arrived.pop(("forward", micro, part))
                    outputs, kept[micro, part] = self.parts[part].forward(entering)
                    if part == self.count - 1:
                        own_loss, gradient = cross_entropy(outputs, targets[micro], examples)
                        loss += own_loss
                        arrived["backward", micro, part] = gradient
                    else:
                        self._pass_on("forward", micro, part + 1, outputs, arrived, leaving)
                case "backward":
                    gradient = arrived.pop(("backward", micro, part))
                    of_inputs = self.parts[part].backward(gradient, kept.pop((micro, part)))
                    if part > 0:
                        self._pass_on("backward", micro, part - 1, of_inputs, arrived, leaving)
                case "weights":
                    pass  # the gradients of the weights were computed with those of the inputs
            self.spans.append(Span(self.comm.rank, instruction, begin, time.perf_counter() - began))
        self.comm.finish()
        return loss

    def _pass_on(self, of: str, micro: int, part: int, array: Array, arrived: Waiting, leaving: Waiting) -> None:
        """To another part: of this stage, or by the send that follows."""
        if part % self.comm.size == self.comm.rank:
            arrived[of, micro, part] = array
        else:
            leaving[of, micro, part] = array

    def _tag(self, of: str, micro: int, part: int) -> int:
        return (micro * self.count + part) * 2 + TAGS[of]
