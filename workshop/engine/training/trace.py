"""The time of steps as a Chrome trace, which Perfetto and the dashboard read: all ranks on one axis, and Horovod's own
timeline beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workshop.engine.training import measure

Events = Sequence[Mapping[str, Any]]  # of a Chrome trace

NEGOTIATE = "NEGOTIATE_ALLREDUCE"
BUCKET = "bucket"  # a span: gradients on their way, in an exchange that overlaps with computing


def trace(
    marks: np.ndarray,
    first_step: int,
    hosts: Sequence[str],
    horovod: Events | None = None,
    *,
    exchanged: bool = True,
    transfers: Sequence[Sequence[tuple[float, float]]] = (),
) -> dict[str, Any]:
    """The Chrome trace (a JSON object) of the steps from `first_step` on.

    `marks` is float64 [ranks, steps, 5]: seconds since the epoch at which each rank began a step, had its input, had
    its gradients, had exchanged them and had updated its weights. `hosts` names each rank's host; `horovod` holds the
    events of Horovod's own file, see `read_horovod`; `transfers` the begins and ends of each rank's buckets, in seconds
    since the epoch, where gradients leave during the computation. Times in the trace are whole microseconds since its
    first span; `otherData.start` tells when that was. Steps with a mark that isn't a number are left out. Raises
    ValueError where marks and hosts don't have these shapes.

    Ranks of several hosts have several clocks. Their differences (`ahead`) are subtracted, so that times are by the
    clock of rank 0's host. Where ranks haven't `exchanged` anything, these differences are unknown and times stay as
    they are; `otherData.clocks` tells which.

    A rank's time in the exchange is waiting first, then moving data, as `measure.phases` has it (spans "wait" and
    "exchange"). The rank that came last has `last` in the args of its span "exchange".
    """
    marks = np.asarray(marks, dtype=np.float64)
    if marks.ndim != 3 or marks.shape[2] != 5 or marks.shape[0] != len(hosts):
        raise ValueError(f"marks are {list(marks.shape)} instead of [{len(hosts)} ranks, steps, 5]")
    complete = np.isfinite(marks).all(axis=(0, 2))
    numbers, marks = np.flatnonzero(complete) + first_step, marks[:, complete]
    shift = ahead(marks, hosts) if exchanged else np.zeros(len(hosts))
    marks = marks - shift[:, None, None]
    horovod_spans, began = list(spans(horovod or ())), start(horovod or ())
    firsts = [marks.min()] if marks.size else []
    if horovod_spans and began is not None:
        firsts.append((began + min(span.begin for span in horovod_spans)) / 1e6)
    zero = float(min(firsts, default=0.0))
    events: list[dict[str, Any]] = []
    for rank, host in enumerate(hosts):
        events += _named(rank + 1, f"rank {rank} on {host}", {rank + 1: "steps"})
    events += _steps(np.rint((marks - zero) * 1e6).astype(np.int64), numbers)
    for rank, moved in enumerate(transfers):
        if moved:
            pid = len(hosts) + 1 + rank
            events += _named(pid, f"buckets of rank {rank}", {pid: "buckets"})
            for begin, end in np.rint((np.array(moved) - shift[rank] - zero) * 1e6).astype(np.int64).tolist():
                events.append(_span(pid, pid, BUCKET, begin, end, {}))
    about: dict[str, Any] = {"start": zero, "ranks": len(hosts), "first_step": first_step, "steps": len(numbers)}
    if len(set(hosts)) > 1:
        about["clocks"] = "by the ends of exchanges" if exchanged else "not compared: ranks exchanged nothing"
    if horovod is not None and began is None:
        about["horovod"] = "left out: its timeline doesn't tell when it began"
    elif horovod is not None and began is not None:
        events += _horovod_events(horovod_spans, tensors(horovod), len(hosts) + 1, began - zero * 1e6)
        about["horovod"] = f"{sum(span.depth == 0 for span in horovod_spans)} negotiations and operations on tensors"
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}


def ahead(marks: np.ndarray, hosts: Sequence[str]) -> np.ndarray:
    """The seconds by which each rank's clock is ahead of rank 0's, float64 [ranks]; 0 on the same host.

    An exchange ends on all hosts at the same time, apart from small delays. So the difference of its ends on two hosts
    is that of their clocks. Each host's first rank in a step counts, and the median over all steps.

    `marks` is float64 [ranks, steps, 5] of numbers, see `trace`.
    """
    shift = np.zeros(len(hosts))
    if not marks.size:
        return shift
    names = np.array(hosts)
    ends = {host: marks[names == host, :, measure.EXCHANGED].min(axis=0) for host in set(hosts)}
    for host in ends.keys() - {hosts[0]}:
        shift[names == host] = np.median(ends[host] - ends[hosts[0]])
    return shift


@dataclass(frozen=True)
class TraceSpan:
    """A begin and its end in Horovod's timeline; times are microseconds since the timeline's start."""

    tensor: int
    name: str
    begin: float
    end: float
    depth: int  # spans around it; 0 are negotiations and whole operations
    args: Mapping[str, Any]  # of the end
    ready: Mapping[int, float] = field(default_factory=dict)  # when which rank was ready, of a negotiation


def read_horovod(text: str) -> list[dict[str, Any]]:
    """The readable events in Horovod's timeline file; [] where there are none.

    The file is an array that is written event by event, so a killed rank's file may end in the middle of an event.
    Everything before that is returned. Numbers that JSON doesn't know become None.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
    events: list[dict[str, Any]] = []
    place = text.find("[") + 1
    while place > 0:
        while place < len(text) and text[place] in " \t\r\n,":
            place += 1
        try:
            event, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break  # the closing bracket, or where it was cut off
        if isinstance(event, dict):
            events.append(event)
    return events


def allreduces(events: Events) -> int:
    """Complete ALLREDUCE operations; Horovod counts one for each tensor, however many travel together."""
    return sum(span.name == "ALLREDUCE" and span.depth == 0 for span in spans(events))


def negotiations(events: Events) -> list[TraceSpan]:
    """The complete negotiations of all-reduces, one for each tensor, in the order in which they ended.

    A negotiation lasts from when the first rank, whichever, has told that it has the tensor until all have; ranks tell
    once in a cycle of Horovod's (1 ms unless set otherwise), so that is how exact it is. `ready` tells when rank 0
    heard of each rank, and with it who was late; but only where Horovod's response cache does not know the tensor, as
    in its very first all-reduce. From then on ranks agree by a bitwise AND over all of them, in which nobody can see
    whose bit was missing: `ready` is empty, the length still tells by how much the last came after the first.
    (Read off Horovod 0.28: controller.cc, IncrementTensorCount and CoordinateCacheAndState.)
    """
    return [span for span in spans(events) if span.name == NEGOTIATE and span.depth == 0]


def spans(events: Events) -> Iterator[TraceSpan]:
    """Begins paired with their ends, for each tensor; a begin or an end without the other one is left out."""
    opened: dict[int, list[tuple[Mapping[str, Any], dict[int, float]]]] = {}
    for event in events:
        phase, tensor, at, name = (event.get(key) for key in ("ph", "pid", "ts", "name"))
        if not isinstance(tensor, int) or not isinstance(at, int | float) or not -1e18 < at < 1e18:
            continue
        stack = opened.setdefault(tensor, [])
        if phase == "B":
            stack.append((event, {}))
        elif phase == "X" and stack and isinstance(name, str) and name.isascii() and name.isdigit() and len(name) < 10:
            stack[-1][1][int(name)] = at
        elif phase == "E" and stack:
            begin, ready = stack.pop()
            args = event.get("args")
            arguments = args if isinstance(args, dict) else {}
            yield TraceSpan(
                tensor, str(begin.get("name", "")), begin["ts"], max(at, begin["ts"]), len(stack), arguments, ready
            )


def start(events: Events) -> float | None:
    """When Horovod's timeline began, in microseconds since the epoch; None where it doesn't tell."""
    for event in events:
        args = event.get("args")
        start_time = args.get("start_time_since_epoch_in_micros") if isinstance(args, dict) else None
        if isinstance(start_time, int | float) and 0 < start_time < 1e18:
            return start_time
    return None


def tensors(events: Events) -> dict[int, str]:
    """Names of the tensors that Horovod's timeline numbers."""
    names = {}
    for event in events:
        tensor, args = event.get("pid"), event.get("args")
        if event.get("name") == "process_name" and isinstance(tensor, int) and isinstance(args, dict):
            name = args.get("name")
            if isinstance(name, str):
                names[tensor] = name
    return names


def _finite(digits: str) -> float | None:
    value = float(digits)
    return value if math.isfinite(value) else None


def _steps(marks: np.ndarray, numbers: np.ndarray) -> Iterator[dict[str, Any]]:
    """The spans of all ranks; `marks` are whole microseconds, so that neighbours touch and never overlap."""
    if not marks.size:
        return
    parts = measure.phases(marks.astype(np.float64))
    met = marks[:, :, measure.GRADIENTS] + parts.wait.astype(np.int64)  # when, on each rank's clock, all had come
    edges = np.insert(marks, measure.EXCHANGED, met, axis=2)
    phases = ("input", "compute", "wait", "exchange", "update")
    for rank, steps in enumerate(edges.tolist()):
        for number, last_rank, step in zip(numbers.tolist(), parts.last.tolist(), steps, strict=True):
            for name, begin, end in zip(phases, step, step[1:], strict=False):
                args = {"step": number}
                if name == "exchange" and last_rank == rank and len(edges) > 1:
                    args["last"] = True
                if end > begin:
                    yield _span(rank + 1, rank + 1, name, begin, end, args)


def _horovod_events(
    horovod_spans: Sequence[TraceSpan], names: Mapping[int, str], pid: int, offset: float
) -> Iterator[dict[str, Any]]:
    """Horovod's spans as one more process with a thread for each tensor; `offset` puts its microseconds on our axis."""
    threads = {tensor: pid + number for number, tensor in enumerate(sorted({span.tensor for span in horovod_spans}))}
    shapes = {span.tensor: span.args for span in horovod_spans if span.args}
    titles = {
        thread: " ".join([f"tensor {tensor}", *map(str, shapes.get(tensor, {}).values())])
        for tensor, thread in threads.items()
    }
    yield from _named(pid, "Horovod, seen by rank 0", titles)
    for span in sorted(
        horovod_spans, key=lambda span: (span.begin, span.depth)
    ):  # outer ones first, where they begin together
        thread = threads[span.tensor]
        begin, end = round(span.begin + offset), round(span.end + offset)
        args = {"tensor": names.get(span.tensor, str(span.tensor))} if span.depth == 0 else {}
        yield _span(pid, thread, span.name, begin, end, args)
        for rank, at in span.ready.items():
            moment = {"ph": "i", "s": "t", "pid": pid, "tid": thread, "ts": round(at + offset)}
            yield {**moment, "name": f"rank {rank} is ready"}


def _span(pid: int, tid: int, name: str, begin: int, end: int, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": begin, "dur": end - begin, "args": dict(args)}


def _named(pid: int, title: str, threads: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Events that name a process and its threads and keep the processes in order. A process's first thread has its
    number, as on Linux, so that no two threads in the trace have the same."""
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": title}}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for tid, name in threads.items():
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}
