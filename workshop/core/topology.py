"""The machine under the ranks: processing units, cores, caches, NUMA nodes and packages, read from Linux's /sys."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

SYSTEM = Path("/sys/devices/system")
# Files that name all units of a unit's package, core and so on, in the words of new kernels and of old ones.
_SETS = {
    "drawer": ("drawer_cpus", "drawer_siblings"),
    "book": ("book_cpus", "book_siblings"),
    "package": ("package_cpus", "core_siblings"),
    "die": ("die_cpus",),
    "cluster": ("cluster_cpus",),
    "core": ("core_cpus", "thread_siblings"),
}


def parse_cpu_list(text: str) -> list[int]:
    """Linux's list of processing units (`0-3,8`) as numbers. Raises ValueError for anything else."""
    units: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        units.extend(range(int(first), int(last or first) + 1))
    return units


def parse_cpu_mask(text: str) -> list[int]:
    """Linux's mask of processing units (`00000001,0000000f`, the highest 32 first) as numbers. Raises ValueError for
    anything else."""
    bits = int("".join(word.zfill(8) for word in text.strip().split(",")) or "0", 16)
    return [unit for unit in range(bits.bit_length()) if bits >> unit & 1]


def _read(path: Path, default: str = "") -> str:
    try:
        return path.read_text().strip(" \n\0")
    except OSError:
        return default


def _units(folder: Path, *names: tuple[str, str]) -> list[int]:
    """The units in the first of these pairs of files that exists: a mask, which hwloc reads, or a list."""
    for masked, listed in names:
        if text := _read(folder / masked):
            return parse_cpu_mask(text)
        if text := _read(folder / listed):
            return parse_cpu_list(text)
    return []


def _logical(online: Iterable[int], levels: Iterable[Mapping[int, Hashable]]) -> list[int]:
    """The units in hwloc's logical order. Each level (packages, caches, cores) gives every unit a key; units with the
    same key stay together, and groups are ordered by their lowest unit."""
    around: dict[int, set[tuple[int, int]]] = {
        unit: set() for unit in online
    }  # minus the size of each object, its lowest
    for level in levels:
        objects: dict[Hashable, list[int]] = {}
        for unit in around:
            if unit in level:
                objects.setdefault(level[unit], []).append(unit)
        for units in objects.values():
            for unit in units:
                around[unit].add((-len(units), min(units)))
    return sorted(around, key=lambda unit: ([lowest for _, lowest in sorted(around[unit])], unit))


def machine(system: Path = SYSTEM) -> dict[str, Any]:
    """This host for the store: host, model, memory in bytes, and each unit's core, package, NUMA node and last-level
    cache, as hwloc's logical numbers, which are unique on the host.

    Where /sys tells nothing (a container may hide it), every unit is a core of its own in one package.
    """
    online = parse_cpu_list(_read(system / "cpu/online")) or _described(system) or sorted(os.sched_getaffinity(0))
    numa: dict[int, Hashable] = {}
    for node in system.glob("node/node[0-9]*"):
        numa |= dict.fromkeys(_units(node, ("cpumap", "cpulist")), int(node.name.removeprefix("node")))
    parts: dict[str, dict[int, Hashable]] = {what: {} for what in _SETS}
    caches: dict[int, dict[int, Hashable]] = {}  # by level
    named = {unit: _read(system / f"cpu/cpu{unit}/topology/core_id") for unit in online}
    for unit in online:
        folder = system / f"cpu/cpu{unit}"
        # Numbers of cores can be the same in another die, and numbers of dies in another package: who is in it counts.
        package = max(int(_read(folder / "topology/physical_package_id", "0")), 0)
        die = (package, _read(folder / "topology/die_id"))
        ids: dict[str, Hashable] = {
            "package": package,
            "die": die,
            "core": (die, named[unit] or f"unit {unit}"),
        }
        for what, names in _SETS.items():
            members = _units(folder / "topology", *((name, f"{name}_list") for name in names))
            if what == "core":  # AMD's compute units are pairs of cores, which Linux calls siblings
                members = [other for other in members if named.get(other) == named[unit]]
            parts[what][unit] = min(members, default=ids.get(what))
        for cache in folder.glob("cache/index[0-9]*"):
            if _read(cache / "type") != "Instruction":
                shared = _units(cache, ("shared_cpu_map", "shared_cpu_list"))
                caches.setdefault(int(_read(cache / "level", "0")), {})[unit] = min(shared, default=unit)

    last = max(caches, default=0)
    l3 = {unit: (parts["package"][unit], caches[last].get(unit) if last >= 3 else None) for unit in online}
    order = _logical(online, [numa, *parts.values(), *caches.values()])
    nodes = {unit: numa.get(unit, 0) for unit in online}
    columns: dict[str, dict[int, Any]] = {"core": parts["core"], "package": parts["package"], "numa": nodes, "l3": l3}
    numbers = {
        what: {key: number for number, key in enumerate(dict.fromkeys(column[unit] for unit in order))}
        for what, column in columns.items()
    }
    return {
        "host": socket.gethostname(),
        "model": _model(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "units": [
            {"unit": unit, **{what: numbers[what][column[unit]] for what, column in columns.items()}} for unit in online
        ],
    }


def _described(system: Path) -> list[int]:
    """The units that have a description, where no file says which are online."""
    numbers_text = (folder.parent.name.removeprefix("cpu") for folder in system.glob("cpu/cpu[0-9]*/topology"))
    return sorted(int(number) for number in numbers_text if number.isdecimal())


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
