"""The machine under the ranks: processing units, cores, caches, NUMA nodes and packages, read from Linux's /sys."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

SYSTEM = Path("/sys/devices/system")
PCI = Path("/sys/bus/pci/devices")
# Files that name all units of a unit's package, core and so on, in the words of new kernels and of old ones.
_SETS = {
    "package": ("package_cpus_list", "core_siblings_list"),
    "die": ("die_cpus_list",),
    "cluster": ("cluster_cpus_list",),
    "core": ("core_cpus_list", "thread_siblings_list"),
}

# ARM's cores by the implementer and the part in the register MIDR_EL1, as their technical reference manuals give them.
ARM_CORES = {
    ("0x41", "0xd03"): "Cortex-A53",
    ("0x41", "0xd08"): "Cortex-A72",
    ("0x41", "0xd0b"): "Cortex-A76",
    ("0x41", "0xd0c"): "Neoverse-N1",
    ("0x41", "0xd40"): "Neoverse-V1",
    ("0x41", "0xd49"): "Neoverse-N2",
    ("0x41", "0xd4f"): "Neoverse-V2",
    ("0x46", "0x001"): "A64FX",
    ("0x48", "0xd01"): "TaiShan-v110",
}


def parse_cpu_list(text: str) -> list[int]:
    """Linux's list of processing units (`0-3,8`) as numbers. Raises ValueError for anything else."""
    units: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        units.extend(range(int(first), int(last or first) + 1))
    return units


def _read(path: Path, default: str = "") -> str:
    try:
        return path.read_text().strip(" \n\0")
    except OSError:
        return default


def _units(folder: Path, *names: str) -> list[int]:
    """The units in the first of these lists that exists."""
    return next((parse_cpu_list(text) for name in names if (text := _read(folder / name))), [])


def _logical(online: Iterable[int], levels: Iterable[Mapping[int, Hashable]]) -> list[int]:
    """The units in hwloc's logical order. Each level (packages, caches, cores) gives every unit a key; units with the
    same key stay together, and groups are ordered by their lowest unit."""
    around: dict[int, set[tuple[int, int]]] = {unit: set() for unit in online}  # minus an object's size, its lowest
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
    online = parse_cpu_list(_read(system / "cpu/online")) or sorted(os.sched_getaffinity(0))
    numa: dict[int, Hashable] = {}
    for node in system.glob("node/node[0-9]*"):
        numa |= dict.fromkeys(_units(node, "cpulist"), int(node.name.removeprefix("node")))
    parts: dict[str, dict[int, Hashable]] = {what: {} for what in _SETS}
    caches: dict[int, dict[int, Hashable]] = {}  # by level
    for unit in online:
        folder = system / f"cpu/cpu{unit}"
        # Numbers of cores can be the same in another die, and numbers of dies in another package: who is in it counts.
        package = max(int(_read(folder / "topology/physical_package_id", "0")), 0)
        die = (package, _read(folder / "topology/die_id"))
        core = _read(folder / "topology/core_id") or f"unit {unit}"
        ids: dict[str, Hashable] = {"package": package, "die": die, "core": (die, core)}
        for what, names in _SETS.items():
            parts[what][unit] = min(_units(folder / "topology", *names), default=ids.get(what))
        for cache in folder.glob("cache/index[0-9]*"):
            if _read(cache / "type") != "Instruction":
                shared = _units(cache, "shared_cpu_list")
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
        "model": model(_read(Path("/proc/cpuinfo"))),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "units": [
            {"unit": unit, **{what: numbers[what][column[unit]] for what, column in columns.items()}} for unit in online
        ],
    }


def places(units: Iterable[Mapping[str, int]]) -> dict[str, list[int]]:
    """The numbers of these units, and of the cores, packages and NUMA nodes in which they lie."""
    rows = list(units)
    keys = {"units": "unit", "cores": "core", "packages": "package", "numa": "numa"}
    return {name: sorted({row[key] for row in rows}) for name, key in keys.items()}


def near_device(bus: str, units: Iterable[Mapping[str, int]], pci: Path = PCI) -> dict[str, list[int]]:
    """The packages and NUMA nodes of those `units` of this host that are nearest to a PCI device, by its id
    (0000:07:00.0). Both are empty where /sys tells no NUMA node of it (-1 in a virtual machine)."""
    node = int(_read(pci / bus / "numa_node", "-1"))
    nearest = _units(pci / bus, "local_cpulist") if node >= 0 else []
    near = places(row for row in units if row["unit"] in nearest)
    return {"packages": near["packages"], "numa": near["numa"]}


def together(described: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Machines of several hosts as one: the first, with the others in `more`."""
    first, *more = described
    return {**first, "more": more} if more else first


def machines(described: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The machine of each host of one that `together` made, by the host's name; empty where none is known."""
    if not described or not described.get("units"):
        return {}
    return {machine["host"]: machine for machine in [described, *described.get("more", [])]}


def model(cpuinfo: str) -> str:
    """The processor's name, from the text of /proc/cpuinfo. On ARM Linux tells numbers alone: the names of all kinds of
    cores, where they are known. Otherwise the architecture."""
    lines = [[word.strip() for word in line.partition(":")[::2]] for line in cpuinfo.splitlines()]
    if named := next((value for key, value in lines if key == "model name"), ""):
        return named
    makers = [value for key, value in lines if key == "CPU implementer"]
    kinds = dict.fromkeys(zip(makers, (value for key, value in lines if key == "CPU part"), strict=False))
    return " and ".join(ARM_CORES[kind] for kind in kinds if kind in ARM_CORES) or platform.machine()


def allowed_cores(described: dict[str, Any]) -> int:
    """How many cores of the machine this process may use."""
    allowed = os.sched_getaffinity(0)
    return len({unit["core"] for unit in described["units"] if unit["unit"] in allowed}) or len(allowed)
