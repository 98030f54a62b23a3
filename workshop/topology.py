"""The machine under the ranks: processing units, cores, caches, NUMA nodes and packages, read from Linux's /sys."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SYSTEM = Path("/sys/devices/system")


def parse_cpu_list(text: str) -> list[int]:
    """Linux's list of processing units (`0-3,8`) as numbers. Raises ValueError for anything else."""
    units: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        units.extend(range(int(first), int(last or first) + 1))
    return units


def _read(path: Path, default: str = "") -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return default


def _numbers(keys: Iterable[Any]) -> dict[Any, int]:
    """Logical numbers from 0 in order of the keys: what the operating system numbers with gaps, people don't."""
    return {key: number for number, key in enumerate(sorted(set(keys)))}


def machine(system: Path = SYSTEM) -> dict[str, Any]:
    """This host as the store keeps it: host, model, memory in bytes, and per processing unit its core, package, NUMA
    node and last-level cache, as logical numbers that are unique on the host.

    Where /sys tells nothing (a container may hide it), every unit is a core of its own in one package.
    """
    online = parse_cpu_list(_read(system / "cpu/online")) or sorted(os.sched_getaffinity(0))
    numa_of = {}
    for node in system.glob("node/node[0-9]*"):
        for unit in parse_cpu_list(_read(node / "cpulist")):
            numa_of[unit] = int(node.name.removeprefix("node"))

    raw = []
    for unit in online:
        folder = system / f"cpu/cpu{unit}"
        package = max(int(_read(folder / "topology/physical_package_id", "0")), 0)
        core = int(_read(folder / "topology/core_id", str(unit)))
        caches = sorted(
            (int(_read(cache / "level", "0")), _read(cache / "shared_cpu_list"))
            for cache in folder.glob("cache/index[0-9]*")
            if _read(cache / "type") != "Instruction"
        )
        l3 = min(parse_cpu_list(caches[-1][1]), default=0) if caches and caches[-1][0] >= 3 else -1 - package
        raw.append((unit, (package, core), package, numa_of.get(unit, 0), l3))

    cores = _numbers(row[1] for row in raw)
    packages = _numbers(row[2] for row in raw)
    numa = _numbers(row[3] for row in raw)
    l3s = _numbers(row[4] for row in raw)
    return {
        "host": socket.gethostname(),
        "model": _model(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "units": [
            {"unit": unit, "core": cores[core], "package": packages[package], "numa": numa[node], "l3": l3s[l3]}
            for unit, core, package, node, l3 in raw
        ],
    }


def together(described: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Machines of several hosts as one: the first, with the others in `more`."""
    first, *more = described
    return {**first, "more": more} if more else first


def machines(described: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The machine of each host of one that `together` made, by the host's name; empty where none is known."""
    if not described or not described.get("units"):
        return {}
    return {machine["host"]: machine for machine in [described, *described.get("more", [])]}


def _model() -> str:
    for line in _read(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def allowed_cores(described: dict[str, Any]) -> int:
    """How many cores of the machine this process may use."""
    allowed = os.sched_getaffinity(0)
    return len({unit["core"] for unit in described["units"] if unit["unit"] in allowed}) or len(allowed)
