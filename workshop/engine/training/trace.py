"""The time of steps as a Chrome trace, which the dashboard reads: all ranks on one axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workshop.engine.training import step_report

BUCKET = "bucket"  # a span: gradients on their way, in an exchange that overlaps with computing


def trace(
    marks: np.ndarray,
    first_step: int,
    hosts: Sequence[str],
    *,
    exchanged: bool = True,
    transfers: Sequence[Sequence[tuple[float, float]]] = (),
) -> dict[str, Any]:
    """The Chrome trace (a JSON object) of the steps from `first_step` on.

    `marks` is float64 [ranks, steps, 5]: seconds since the epoch at which each rank began a step, had its input, had
    its gradients, had exchanged them and had updated its weights. `hosts` names each rank's host; `transfers` has the
    begins and ends of each rank's buckets, in seconds since the epoch, where gradients leave during the computation.
    Times in the trace are whole microseconds since its first span; `otherData.start` tells when that was.

    Ranks of several hosts have several clocks. Their differences (`ahead`) are subtracted, so that times are by the
    clock of rank 0's host. Where ranks haven't `exchanged` anything, these differences are unknown and times stay as
    they are; `otherData.clocks` tells which.

    A rank's time in the exchange is waiting first, then moving data, as `measure.phases` has it (spans "wait" and
    "exchange"). The rank that came last has `last` in the args of its span "exchange".
    """
    numbers = np.arange(marks.shape[1]) + first_step
    shift = ahead(marks, hosts) if exchanged else np.zeros(len(hosts))
    marks = marks - shift[:, None, None]
    zero = float(marks.min()) if marks.size else 0.0
    events: list[dict[str, Any]] = []
    for rank, host in enumerate(hosts):
        events += _named(rank + 1, f"rank {rank} on {host}", "steps")
    events += _steps(np.rint((marks - zero) * 1e6).astype(np.int64), numbers)
    for rank, moved in enumerate(transfers):
        if moved:
            pid = len(hosts) + 1 + rank
            events += _named(pid, f"buckets of rank {rank}", "buckets")
            for begin, end in np.rint((np.array(moved) - shift[rank] - zero) * 1e6).astype(np.int64).tolist():
                events.append(_span(pid, BUCKET, begin, end, {}))
    about: dict[str, Any] = {"start": zero, "ranks": len(hosts), "first_step": first_step, "steps": len(numbers)}
    if len(set(hosts)) > 1:
        about["clocks"] = "by the ends of exchanges" if exchanged else "not compared: ranks exchanged nothing"
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
    ends = {host: marks[names == host, :, step_report.EXCHANGED].min(axis=0) for host in set(hosts)}
    for host in ends.keys() - {hosts[0]}:
        shift[names == host] = np.median(ends[host] - ends[hosts[0]])
    return shift


def _steps(marks: np.ndarray, numbers: np.ndarray) -> Iterator[dict[str, Any]]:
    """The spans of all ranks; `marks` are whole microseconds, so that neighbours touch and never overlap."""
    if not marks.size:
        return
    parts = step_report.phases(marks.astype(np.float64))
    met = marks[:, :, step_report.GRADIENTS] + parts.wait.astype(np.int64)  # when, on each rank's clock, all had come
    edges = np.insert(marks, step_report.EXCHANGED, met, axis=2)
    phases = ("input", "compute", "wait", "exchange", "update")
    for rank, steps in enumerate(edges.tolist()):
        for number, last_rank, step in zip(numbers.tolist(), parts.last.tolist(), steps, strict=True):
            for name, begin, end in zip(phases, step, step[1:], strict=False):
                args = {"step": number}
                if name == "exchange" and last_rank == rank and len(edges) > 1:
                    args["last"] = True
                if end > begin:
                    yield _span(rank + 1, name, begin, end, args)


def _span(pid: int, name: str, begin: int, end: int, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "pid": pid, "tid": pid, "name": name, "ts": begin, "dur": end - begin, "args": dict(args)}


def _named(pid: int, title: str, thread: str) -> Iterator[dict[str, Any]]:
    """Events that name a process and its only thread, which has its number, and keep the processes in order."""
    yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": title}}
    yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    yield {"ph": "M", "pid": pid, "tid": pid, "name": "thread_name", "args": {"name": thread}}
