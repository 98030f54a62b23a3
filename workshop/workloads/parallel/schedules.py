"""Schedules of a pipeline as data: a stream of instructions for each stage.

The same streams drive the ranks, the prediction and the figure. A message is sent without waiting, and a receive waits
until it has come: so a schedule can stand still only where stages wait for each other's messages.

The spans of all stages in one step: what work takes, and when it would be done. A run keeps them as a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from workshop.core.errors import BadInput

Work = Literal["forward", "backward", "weights"]
Kind = Literal["forward", "backward", "weights", "send", "receive"]
WORK: tuple[Work, ...] = ("forward", "backward", "weights")
LETTERS: Mapping[str, Work] = {"F": "forward", "B": "backward", "W": "weights"}


@dataclass(frozen=True)
class Instruction:
    """An instruction of a stage. `part` is the number of its part of the network, see `Layout`: with one part for each
    stage it is the stage. A message belongs to the forward or the backward computation (`direction`) of the part that
    receives it. With `weights`, `backward` gives the gradient of the inputs only, and `weights` that of the weights."""

    kind: Kind
    micro: int
    part: int
    direction: Literal["forward", "backward"] = "forward"

    def __str__(self) -> str:
        return f"{self.kind} of micro-batch {self.micro} in part {self.part}"


@dataclass(frozen=True)
class Layout:
    """Which stage has which part of the network. Part i of `parts` is on stage i modulo `stages`. With two `replicas`,
    the parts of the second one have the numbers from `parts` on, and lie on the stages in the opposite direction. Even
    micro-batches belong to the first replica, odd ones to the second."""

    stages: int
    parts: int
    replicas: int = 1

    def stage(self, number: int) -> int:
        """The stage that has a part."""
        replica, part = divmod(number, self.parts)
        return self.stages - 1 - part % self.stages if replica else part % self.stages

    def is_first(self, number: int) -> bool:
        """Whether a part takes the examples."""
        return number % self.parts == 0

    def is_last(self, number: int) -> bool:
        """Whether a part gives the loss."""
        return number % self.parts == self.parts - 1

    def numbers(self, stage: int) -> list[int]:
        """The parts that a stage has, in the order of the network."""
        every = [number for number in range(self.parts * self.replicas) if self.stage(number) == stage]
        return sorted(every, key=lambda number: number % self.parts)


Stream = Sequence[Instruction]
Streams = Sequence[Stream]  # by stage


@dataclass(frozen=True)
class StageSpan:
    """When a stage did something, in units of the durations that were given."""

    stage: int
    instruction: Instruction
    begin: float
    end: float


def naive(stages: int, micro_batches: int) -> Streams:
    """One micro-batch at a time, there and back."""
    return _with_messages(
        [
            [work for micro in range(micro_batches) for work in (_do("forward", micro, s), _do("backward", micro, s))]
            for s in range(stages)
        ]
    )


def gpipe(stages: int, micro_batches: int) -> Streams:
    """All forward computations, then all backward ones (Huang et al., GPipe, arXiv:1811.06965, section 2.3)."""
    micros = range(micro_batches)
    return _with_messages(
        [[_do(kind, micro, s) for kind in ("forward", "backward") for micro in micros] for s in range(stages)]
    )


def one_forward_one_backward(stages: int, micro_batches: int) -> Streams:
    """Each stage begins the backward computation of a micro-batch as soon as it can, so it keeps the activations of
    `stages - stage` micro-batches at most (Narayanan et al., PipeDream-Flush, arXiv:2006.09503, section 2.2)."""
    streams = []
    for stage in range(stages):
        first = min(stages - stage - 1, micro_batches)
        stream = [_do("forward", micro, stage) for micro in range(first)]
        for micro in range(micro_batches):
            if first + micro < micro_batches:
                stream.append(_do("forward", first + micro, stage))
            stream.append(_do("backward", micro, stage))
        streams.append(stream)
    return _with_messages(streams)


def interleaved(stages: int, micro_batches: int, parts: int = 2) -> Streams:
    """Each stage has several parts of the network, which lie `stages` apart, so that the pipeline fills sooner
    (Narayanan et al., Megatron-LM, arXiv:2104.04473, section 2.2). Raises BadInput where the micro-batches are no
    multiple of the stages."""
    if micro_batches % stages:
        raise BadInput(
            f"An interleaved schedule of {stages} stages takes a multiple of {stages} micro-batches, not "
            f"{micro_batches}."
        )
    total = micro_batches * parts

    def place(number: int, stage: int, forward: bool) -> tuple[int, int]:
        """The micro-batch and the part of the stage's n-th forward or backward computation."""
        group, inside = divmod(number, stages * parts)
        part, offset = divmod(inside, stages)
        return group * stages + offset, stage + stages * (part if forward else parts - 1 - part)

    streams = []
    for stage in range(stages):
        first = min((stages - stage - 1) * 2 + (parts - 1) * stages, total)
        forwards = [_do("forward", *place(number, stage, True)) for number in range(total)]
        backwards = [_do("backward", *place(number, stage, False)) for number in range(total)]
        stream = forwards[:first]
        for number, backward in enumerate(backwards):
            stream += [*forwards[first + number : first + number + 1], backward]
        streams.append(stream)
    return _with_messages(streams)


def zero_bubble(stages: int, micro_batches: int) -> Streams:
    """1F1B whose gradients of the weights wait until a stage has nothing else to do (Qi et al., Zero bubble pipeline
    parallelism, arXiv:2401.10241, ZB-H1 in section 3)."""
    streams = []
    for stage in range(stages):
        stream, pending = list[Instruction](), list[Instruction]()
        for instruction in one_forward_one_backward(stages, micro_batches)[stage]:
            if instruction.kind not in WORK:
                continue
            stream.append(instruction)
            if instruction.kind == "backward":
                pending.append(_do("weights", instruction.micro, stage))
                if len(pending) > stage:  # the first stages have the least time to spare
                    stream.append(pending.pop(0))
        streams.append([*stream, *pending])
    return _with_messages(streams)


def bidirectional(stages: int, micro_batches: int) -> Streams:
    """Two replicas in opposite directions, each in the order of 1F1B (Jain et al., GEMS, SC 2020). A stage takes the
    work of the replica whose inputs are there first, and a backward computation before a forward one; the order assumes
    that backward takes twice as long. Raises BadInput where the micro-batches can't be halved."""
    if micro_batches % 2:
        raise BadInput(f"A bidirectional schedule takes an even number of micro-batches, not {micro_batches}.")
    half = one_forward_one_backward(stages, micro_batches // 2)
    ahead = {
        (stage, second): [
            _do(step.kind, 2 * step.micro + second, step.part + second * stages) for step in stream if step.kind in WORK
        ]
        for second, direction in enumerate((half, half[::-1]))
        for stage, stream in enumerate(direction)
    }
    clocks, streams = [0.0] * stages, [list[Instruction]() for _ in range(stages)]
    ends: dict[Instruction, float] = {}
    while choices := [
        (max([clocks[stage], *(ends[need] for need in needs)]), work.kind == "forward", work.micro, stage)
        for (stage, _), queue in ahead.items()
        for work in queue[:1]
        if ends.keys() >= (needs := _needs(work, stages))
    ]:
        begin, forward, micro, stage = min(choices)
        work = ahead[stage, micro % 2].pop(0)
        clocks[stage] = ends[work] = begin + (1 if forward else 2)
        streams[stage].append(work)
    return _with_messages(streams, replicas=2)


SCHEDULES: Mapping[str, Callable[[int, int], Streams]] = {
    "naive": naive,
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
    "interleaved": interleaved,
    "zero-bubble": zero_bubble,
    "bidirectional": bidirectional,
}


def parse(text: str, stages: int) -> Streams:
    """A schedule from words such as `F0 F1 B0 B1 / F0 B0 F1 B1`: forward and backward computations of micro-batches,
    for each stage. Messages are added. W0 is the gradient of the weights where a backward computation gives that of the
    inputs only. Raises BadInput for anything else."""
    texts = [part.split() for part in re.split(r"[/\n]", text.strip())]
    if len(texts) != stages:
        raise BadInput(f"The instructions are for {len(texts)} stages, and the pipeline has {stages}.")
    streams = []
    for stage, items in enumerate(texts):
        stream = []
        for item in items:
            match = re.fullmatch(r"([FBW])(\d{1,4})", item)
            if match is None:
                raise BadInput(f"Stage {stage} has the instruction {item!r}; it should be like F0, B0 or W0.")
            stream.append(_do(LETTERS[match[1]], int(match[2]), stage))
        streams.append(stream)
    return _with_messages(streams)


def written(streams: Streams) -> str:
    """The work of a schedule with one part for each stage, as `parse` reads it."""
    letters = {kind: letter for letter, kind in LETTERS.items()}
    return " / ".join(
        " ".join(f"{letters[step.kind]}{step.micro}" for step in stream if step.kind in letters) for stream in streams
    )


def fixed(seconds: Mapping[Work, float]) -> Callable[[Instruction], float]:
    """The same time for each kind of work on all stages."""
    times = {str(kind): duration for kind, duration in seconds.items()}
    return lambda instruction: times[instruction.kind]


def simulate(streams: Streams, seconds: Callable[[Instruction], float]) -> list[StageSpan]:
    """When each stage does what, if work takes `seconds` and a message no time. Raises BadInput where the schedule
    stands still, with the instructions that wait."""
    clocks, places = [0.0] * len(streams), [0] * len(streams)
    sent: dict[tuple[str, int, int], float] = {}  # when a message arrives
    spans: list[StageSpan] = []
    moved = True
    while moved:
        moved = False
        for stage, stream in enumerate(streams):
            while places[stage] < len(stream):
                instruction = stream[places[stage]]
                key = (instruction.direction, instruction.micro, instruction.part)
                begin = clocks[stage]
                if instruction.kind == "receive":
                    if key not in sent:
                        break
                    clocks[stage] = max(begin, sent.pop(key))
                elif instruction.kind == "send":
                    sent[key] = begin
                else:
                    clocks[stage] = begin + seconds(instruction)
                spans.append(StageSpan(stage, instruction, begin, clocks[stage]))
                places[stage] += 1
                moved = True
    waiting = [
        f"stage {stage} waits at the {stream[place]}"
        for stage, (stream, place) in enumerate(zip(streams, places, strict=True))
        if place < len(stream)
    ]
    if waiting:
        raise BadInput(f"The schedule stands still: {', and '.join(waiting[:2])}.")
    return spans


def idle_share(spans: Sequence[StageSpan], stages: int) -> float:
    """The bubble: the share of all stages' time without work, from the first work to the end of the last."""
    work = [span for span in spans if span.instruction.kind in WORK]
    if not work:
        return 0.0
    seconds = max(span.end for span in work) - min(span.begin for span in work)
    return 1 - sum(span.end - span.begin for span in work) / (seconds * stages)


def splits(streams: Streams) -> bool:
    """Whether the gradients of the weights are instructions by themselves."""
    return any(step.kind == "weights" for stream in streams for step in stream)


def most_kept(stream: Stream, activations: Mapping[int, int]) -> int:
    """The most bytes of activations that a stage keeps at once. `activations`: of one micro-batch, by part. They are
    kept until the last instruction that needs them."""
    last = "weights" if splits([stream]) else "backward"
    now = most = 0
    for instruction in stream:
        if instruction.kind in ("forward", last):
            now += activations[instruction.part] * (1 if instruction.kind == "forward" else -1)
            most = max(most, now)
    return most


def check(streams: Streams, parts: int, micro_batches: int, replicas: int = 1) -> None:
    """Raises BadInput where work of a part is missing, comes twice or too early, or the schedule stands still."""
    for kind in WORK if splits(streams) else WORK[:2]:
        work = [(step.micro, step.part) for stream in streams for step in stream if step.kind == kind]
        expected = {(micro, micro % replicas * parts + part) for micro in range(micro_batches) for part in range(parts)}
        if missing := expected - set(work):
            micro, part = min(missing)
            raise BadInput(f"The schedule has no {kind} of micro-batch {micro} in part {part}.")
        if len(work) > len(expected) or set(work) - expected:
            raise BadInput(f"The schedule has a {kind} twice, or one that doesn't exist.")
    for stage, stream in enumerate(streams):
        earlier = set[tuple[str, int, int]]()
        for instruction in stream:
            if instruction.kind == "backward" and ("forward", instruction.micro, instruction.part) not in earlier:
                raise BadInput(f"Stage {stage} has the {instruction} before its forward.")
            if instruction.kind == "weights" and ("backward", instruction.micro, instruction.part) not in earlier:
                raise BadInput(f"Stage {stage} has the {instruction} before its backward.")
            earlier.add((instruction.kind, instruction.micro, instruction.part))
    simulate(streams, lambda instruction: 1.0)


def _do(kind: Work, micro: int, part: int) -> Instruction:
    return Instruction(kind, micro, part)


def _needs(work: Instruction, parts: int) -> set[Instruction]:
    """The work of another part for which a computation waits, in a replica of so many parts."""
    source = work.part - 1 if work.kind == "forward" else work.part + 1
    return {replace(work, part=source)} if source // parts == work.part // parts else set()


def _with_messages(streams: Streams, replicas: int = 1) -> Streams:
    """The streams with the messages between parts: a receive before the work that needs it, a send after the work."""
    parts = (1 + max(instruction.part for stream in streams for instruction in stream)) // replicas
    complete = []
    for stream in streams:
        full: list[Instruction] = []
        for work in stream:
            forward, part = work.kind == "forward", work.part
            source, target = (part - 1, part + 1) if forward else (part + 1, part - 1)
            direction: Literal["forward", "backward"] = "forward" if forward else "backward"
            if work.kind != "weights" and len(streams) > 1 and source // parts == part // parts:
                full.append(Instruction("receive", work.micro, part, direction))
            full.append(work)
            if work.kind != "weights" and len(streams) > 1 and target // parts == part // parts:
                full.append(Instruction("send", work.micro, target, direction))
        complete.append(full)
    return complete


FILE = "spans.json"


def measured_seconds(spans: Sequence[StageSpan]) -> Mapping[tuple[str, int], float]:
    """The mean seconds of each kind of work in each part."""
    lengths: dict[tuple[str, int], list[float]] = {}
    for span in spans:
        if span.instruction.kind in WORK:
            lengths.setdefault((span.instruction.kind, span.instruction.part), []).append(span.end - span.begin)
    return {key: sum(each) / len(each) for key, each in lengths.items()}


def predicted(streams: Streams, seconds: Mapping[tuple[str, int], float]) -> list[StageSpan]:
    """The spans of a step if each kind of work takes `seconds` in each part and messages take no time."""
    return simulate(streams, lambda instruction: seconds[instruction.kind, instruction.part])


def write(spans: Mapping[int, Sequence[StageSpan]]) -> bytes:
    """The spans of each rank as JSON."""
    return json.dumps({rank: [asdict(span) for span in of_rank] for rank, of_rank in spans.items()}).encode()


def read(data: bytes) -> dict[int, list[StageSpan]]:
    """The spans of each rank from JSON."""
    return {
        int(rank): [StageSpan(**{**span, "instruction": Instruction(**span["instruction"])}) for span in of_rank]
        for rank, of_rank in json.loads(data).items()
    }
