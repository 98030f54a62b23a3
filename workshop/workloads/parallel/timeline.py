"""The spans of all stages in one step: the idle share that was measured, and a trace that Perfetto opens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.workloads.parallel.schedules import WORK, Instruction, StageSpan, Streams, idle_share, simulate

TRACE = "pipeline.json"
SCALE = 1e6  # microseconds, as in Chrome's trace format


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


def idle(spans: Sequence[StageSpan], stages: int) -> float:
    """The idle share of all stages from the first work to the end of the last."""
    work = [span for span in spans if span.instruction.kind in WORK]
    begin = min((span.begin for span in work), default=0.0)
    shifted = [StageSpan(span.stage, span.instruction, span.begin - begin, span.end - begin) for span in work]
    return idle_share(shifted, stages)


def trace(spans: Mapping[int, Sequence[StageSpan]]) -> bytes:
    """Chrome's trace format, which Perfetto opens: a process for each rank."""
    events: list[dict[str, Any]] = []
    for rank, of_rank in sorted(spans.items()):
        events.append({"ph": "M", "pid": rank, "name": "process_name", "args": {"name": f"rank {rank}"}})
        events += [
            {
                "ph": "X",
                "pid": rank,
                "tid": 0,
                "name": span.instruction.kind,
                "ts": round(SCALE * span.begin, 1),
                "dur": round(SCALE * (span.end - span.begin), 1),
                "args": {
                    "stage": span.stage,
                    "micro": span.instruction.micro,
                    "part": span.instruction.part,
                    "of": span.instruction.direction,
                },
            }
            for span in of_rank
        ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode()


def read(data: bytes) -> dict[int, list[StageSpan]]:
    """The spans of each rank from a trace."""
    spans: dict[int, list[StageSpan]] = {}
    for event in json.loads(data)["traceEvents"]:
        if event["ph"] == "X":
            about = event["args"]
            instruction = Instruction(event["name"], about["micro"], about["part"], about["of"])
            begin = event["ts"] / SCALE
            spans.setdefault(event["pid"], []).append(
                StageSpan(about["stage"], instruction, begin, begin + event["dur"] / SCALE)
            )
    return spans
