"""The machine as /sys tells it: this one, and others written down as files."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.test_machines import renumbered
from workshop.core import machines, topology


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_are_read_as_linux_writes_them(units: set[int]) -> None:
    ordered = sorted(units)
    spans: list[list[int]] = []
    for unit in ordered:
        if spans and unit == spans[-1][1] + 1:
            spans[-1][1] = unit
        else:
            spans.append([unit, unit])
    text = ",".join(f"{first}-{last}" if first != last else str(first) for first, last in spans)
    assert topology.parse_cpu_list(text + "\n") == ordered


def test_this_machine() -> None:
    machine = topology.machine()
    units = {unit["unit"] for unit in machine["units"]}
    assert os.sched_getaffinity(0) <= units
    assert machine["memory_bytes"] > 1 << 28
    assert 1 <= topology.allowed_cores(machine) <= len(units)


def two_sockets(root: Path) -> Path:
    """2 packages x 2 cores × 2 hardware threads, numbered as Linux does: siblings are 4 apart, ids have gaps."""
    (root / "cpu").mkdir(parents=True)
    (root / "cpu/online").write_text("0-7\n")
    for unit in range(8):
        package, core = unit % 4 // 2, unit % 2
        folder = root / f"cpu/cpu{unit}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology/physical_package_id").write_text(f"{package * 7}\n")
        (folder / "topology/core_id").write_text(f"{core * 16}\n")
        (folder / "cache/index3").mkdir(parents=True)
        (folder / "cache/index3/level").write_text("3\n")
        (folder / "cache/index3/type").write_text("Unified\n")
        (folder / "cache/index3/shared_cpu_list").write_text("0-1,4-5\n" if package == 0 else "2-3,6-7\n")
    for node in (0, 1):
        (root / f"node/node{node}").mkdir(parents=True)
        (root / f"node/node{node}/cpulist").write_text("0-1,4-5\n" if node == 0 else "2-3,6-7\n")
    return root


def test_two_sockets_with_hardware_threads(tmp_path: Path) -> None:
    units = {row["unit"]: row for row in topology.machine(two_sockets(tmp_path))["units"]}
    assert [units[unit]["core"] for unit in range(8)] == [0, 1, 2, 3, 0, 1, 2, 3]
    for name in ("package", "numa", "l3"):
        assert [units[unit][name] for unit in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n")


def dump(root: Path, rows: Sequence[Mapping[str, int]], old: bool) -> Path:
    """What Linux tells of a machine: caches are dies, whose cores have the same numbers in every die. `old`: as old
    kernels do, in other words and without numbers of dies."""

    def names(file: Path, some: Iterable[int]) -> None:
        put(file, ",".join(map(str, sorted(some))))

    def like(row: Mapping[str, int], key: str) -> list[int]:
        return [other["unit"] for other in rows if other[key] == row[key]]

    names(root / "cpu/online", [row["unit"] for row in rows])
    for row in rows:
        folder = root / f"cpu/cpu{row['unit']}"
        about, cache = folder / "topology", folder / "cache/index3"
        put(about / "physical_package_id", f"{9 - row['package']}")
        die = sorted({other["core"] for other in rows if other["l3"] == row["l3"]})
        put(about / "core_id", f"{99 - die.index(row['core'])}")
        names(about / ("core_siblings_list" if old else "package_cpus_list"), like(row, "package"))
        names(about / ("thread_siblings_list" if old else "core_cpus_list"), like(row, "core"))
        if not old:
            put(about / "die_id", f"{row['l3']}")
        put(cache / "level", "3")
        put(cache / "type", "Unified")
        names(cache / "shared_cpu_list", like(row, "l3"))
        names(root / f"node/node{40 - row['numa']}/cpulist", like(row, "numa"))
    return root


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(renumbered().filter(lambda described: max(row["unit"] for row in described.units) < 96), st.booleans())
def test_a_dump_and_lstopos_file_of_a_machine_tell_the_same(described: machines.MachineDescription, old: bool) -> None:
    """Whatever numbers the firmware gives to packages, cores and units: hwloc's logical numbers are those of lstopo."""
    with tempfile.TemporaryDirectory() as folder:
        assert topology.machine(dump(Path(folder), described.units, old))["units"] == described.units


def test_cores_of_two_dies_that_share_their_numbers(tmp_path: Path) -> None:
    """4 packages x 2 dies x 6 cores, where the cores of each die count from 0: by numbers alone they would be 24."""
    rows = machines.synthetic("4x12", numa=2, l3=2).units
    units = topology.machine(dump(tmp_path, rows, old=True))["units"]
    assert units == rows and len({row["core"] for row in units}) == 48


def arm(root: Path, clusters: Sequence[tuple[int, int, int]], level: int, anew: bool) -> Path:
    """What Linux tells of an ARM machine, which has no hardware threads: clusters of cores, each (cores, package, NUMA
    node; -1: there is no folder of nodes). The cores of one share a cache of that level, and with a device tree their
    numbers begin `anew` in each."""
    rows = [(cluster, *clusters[cluster][1:]) for cluster in range(len(clusters)) for _ in range(clusters[cluster][0])]

    def alike(unit: int, place: int) -> str:
        return ",".join(str(other) for other, row in enumerate(rows) if row[place] == rows[unit][place])

    put(root / "cpu/online", f"0-{len(rows) - 1}")
    for unit, (cluster, package, node) in enumerate(rows):
        about, caches = root / f"cpu/cpu{unit}/topology", root / f"cpu/cpu{unit}/cache"
        put(about / "physical_package_id", str(package))
        put(about / "cluster_id", str(cluster))
        put(about / "core_id", str([row[0] for row in rows[:unit]].count(cluster) if anew else unit))
        put(about / "core_cpus_list", str(unit))
        put(about / "package_cpus_list", alike(unit, 1))
        put(about / "cluster_cpus_list", alike(unit, 0))
        for index, kind, height, shared in (
            (0, "Data", 1, str(unit)),
            (1, "Instruction", 1, str(unit)),
            (2, "Unified", level, alike(unit, 0)),
        ):
            put(caches / f"index{index}/level", str(height))
            put(caches / f"index{index}/type", kind)
            put(caches / f"index{index}/shared_cpu_list", shared)
        if node >= 0:
            put(root / f"node/node{node}/cpulist", alike(unit, 2))
    return root


@pytest.mark.parametrize(
    ("clusters", "level", "anew", "packages", "numa", "l3"),
    [
        pytest.param([(4, 0, 0)], 3, False, [0] * 4, [0] * 4, [0] * 4, id="Neoverse-N1 in a cloud"),
        pytest.param([(4, 0, -1)], 2, True, [0] * 4, [0] * 4, [0] * 4, id="Cortex-A72 of a small board"),
        pytest.param([(4, 0, -1), (2, 0, -1)], 2, True, [0] * 6, [0] * 6, [0] * 6, id="two kinds of cores"),
        pytest.param([(4, 0, -1), (2, 1, -1)], 2, True, [0] * 4 + [1] * 2, [0] * 6, [0] * 4 + [1] * 2, id="old kernel"),
        pytest.param([(2, -1, 0)], 2, False, [0] * 2, [0] * 2, [0] * 2, id="without numbers of packages"),
        pytest.param(
            [(4, 36, 0), (4, 36, 1), (4, 3558, 2), (4, 3558, 3)],
            *(3, False, [0] * 8 + [1] * 8),
            *([0] * 4 + [1] * 4 + [2] * 4 + [3] * 4,) * 2,
            id="two packages of TaiShan-v110",
        ),
    ],
)
def test_machines_of_arm(
    clusters: Sequence[tuple[int, int, int]],
    level: int,
    anew: bool,
    packages: Sequence[int],
    numa: Sequence[int],
    l3: Sequence[int],
    tmp_path: Path,
) -> None:
    units = topology.machine(arm(tmp_path, clusters, level, anew))["units"]
    assert [unit["core"] for unit in units] == list(range(len(packages)))
    assert [[unit[name] for unit in units] for name in ("package", "numa", "l3")] == [packages, numa, l3]


def test_the_processors_name() -> None:
    def cpuinfo(*parts: str) -> str:
        return "".join(
            f"processor\t: {unit}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {part}\n\n"
            for unit, part in enumerate(parts)
        )

    assert topology.model("processor\t: 0\nmodel name\t: AMD EPYC: 7R13\n") == "AMD EPYC: 7R13"
    assert topology.model(cpuinfo("0xd0c", "0xd0c")) == "Neoverse-N1"
    assert topology.model(cpuinfo("0xd03", "0xd03", "0xd08")) == "Cortex-A53 and Cortex-A72"
    assert topology.model(cpuinfo("0xfff")) == topology.model("") == platform.machine()


def test_a_container_that_hides_sys(tmp_path: Path) -> None:
    rows = topology.machine(tmp_path)["units"]
    assert [row["unit"] for row in rows] == sorted(os.sched_getaffinity(0))
    assert {row["package"] for row in rows} == {0}
    assert len({row["core"] for row in rows}) == len(rows)
