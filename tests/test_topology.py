"""The machine as /sys tells it: this one, and others written down as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import topology


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
    """2 packages x 2 cores x 2 hardware threads, numbered as Linux does: siblings are 4 apart, ids have gaps."""
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


def test_a_container_that_hides_sys(tmp_path: Path) -> None:
    rows = topology.machine(tmp_path)["units"]
    assert [row["unit"] for row in rows] == sorted(os.sched_getaffinity(0))
    assert {row["package"] for row in rows} == {0}
    assert len({row["core"] for row in rows}) == len(rows)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        topology.parse_cpu_list("0-x")
