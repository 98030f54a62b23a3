"""The spans of all stages in one step: what work takes, and when it would be done. A run keeps them as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from workshop.workloads.parallel.schedules import WORK, Instruction, StageSpan, Streams, simulate

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
