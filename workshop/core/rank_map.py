"""RankMap: what runs where, as every rank reports it of itself."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from workshop.core import accelerators, topology

TASKS = "/proc/self/task"


class KernelThread(NamedTuple):
    """A thread of this process as the kernel knows it."""

    tid: int
    name: str
    ticks: int  # of processor time, in the kernel's clock ticks
    started: int  # in clock ticks since the machine's start; tids come again, both together don't
    unit: int  # on which it ran last


def tasks() -> Iterator[KernelThread]:
    """All threads of this process, the oldest first. It takes some 10 us for each, half of what `open` would."""
    for tid in sorted(map(int, os.listdir(TASKS))):
        try:
            file = os.open(f"{TASKS}/{tid}/stat", os.O_RDONLY)
            try:
                stat = os.read(file, 1024)
            finally:
                os.close(file)
        except OSError:
            continue  # ended meanwhile
        # The name is in parentheses and may hold spaces; fields count from behind it (proc(5)).
        name, _, rest = stat.partition(b"(")[2].rpartition(b")")
        fields = rest.split()
        worked, started, unit = int(fields[11]) + int(fields[12]), int(fields[19]), int(fields[36])
        yield KernelThread(tid, name.decode(errors="replace"), worked, started, unit)


@dataclass
class ThreadUnits:
    """The threads of this process and the units on which they worked, as far as calls of `look` saw it."""

    names: dict[int, str] = field(default_factory=dict)
    units: dict[int, set[int]] = field(default_factory=dict)
    _ticks: dict[int, int] = field(default_factory=dict)

    def look(self) -> None:
        """Note where each thread is; one that has not worked since the last look says nothing new."""
        for tid, name, ticks, _, unit in tasks():
            if tid not in self.units or ticks != self._ticks.get(tid):
                self.units.setdefault(tid, set()).add(unit)
            self.names[tid] = name
            self._ticks[tid] = ticks

    def forget(self) -> None:
        self.names.clear()
        self.units.clear()

    def as_json(self) -> list[dict[str, Any]]:
        return [
            {"tid": tid, "name": self.names[tid], "units_seen": sorted(units)}
            for tid, units in sorted(self.units.items())
        ]


def measure(rank: int, local_rank: int, threads: ThreadUnits | None = None) -> dict[str, Any]:
    """A report of this rank: host, pid, allowed units with their cores, packages and NUMA nodes, threads,
    and on a host with GPUs those that it may use (`accelerators.measure`)."""
    threads = threads or ThreadUnits()
    threads.look()
    units = os.sched_getaffinity(0)
    everything = topology.machine()["units"]
    rows = [row for row in everything if row["unit"] in units]
    return {
        "rank": rank,
        "host": socket.gethostname(),
        "local_rank": local_rank,
        "pid": os.getpid(),
        **topology.places(rows),
        "units": sorted(units),
        "threads": threads.as_json(),
        **accelerators.measure(everything),
    }


def rank_map(reports: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The measured rank map, in rank order. Raises ValueError unless ranks are 0 to n-1, each once: two worlds of
    one rank where there should be one of two is the commonest way for a launcher to go wrong."""
    ranks = sorted((dict(report) for report in reports), key=lambda report: report["rank"])
    if [report["rank"] for report in ranks] != list(range(len(ranks))):
        raise ValueError(f"ranks are {[report['rank'] for report in ranks]} instead of 0 to {len(ranks) - 1}")
    return {"measured": True, "ranks": ranks}


def with_later(rank_map: Mapping[str, Any], later: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The same rank map with what ranks reported later, such as the threads that were seen, by rank."""
    return {**rank_map, "ranks": [{**report, **later.get(report["rank"], {})} for report in rank_map["ranks"]]}
