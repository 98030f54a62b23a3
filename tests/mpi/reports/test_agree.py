"""What is read of the mapper's XML, of its words, of --report-bindings, of drawn masks and of the picture agrees, for
random machines and placements on the real mapper, which launches nothing."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.lstopo import written
from tests.support import limit
from workshop.core import machines, topology
from workshop.mpi import openmpi, reports
from workshop.mpi.reports.openmpi_bindings import mask
from workshop.report.figures.machine import machine_picture

HOSTS = ("hostA", "hostB")

shapes = st.builds(
    lambda packages, groups, each, threads: (f"{packages}x{groups * each}x{threads}", groups),
    *(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 2)),
)
mappings = st.one_of(
    st.tuples(st.sampled_from(["core", "package", "node", "numa", "l3cache", "hwthread"]), st.just(1)),
    st.tuples(st.sampled_from(["slot", "ppr:1:package", "ppr:2:node", "ppr:1:numa"]), st.integers(1, 3)),
)
bindings = st.sampled_from(["core", "none", "package", "numa", "hwthread"])


def asked(machine: machines.MachineDescription, folder: Path, display: str, options: list[str]) -> str | None:
    """What mpirun's mapper says for an invented machine; None where it refuses."""
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{host} slots={len(machine.units)}\n" for host in HOSTS))
    believed = {"HWLOC_SYNTHETIC": str(machine.synthetic)}
    if machine.xml is not None:
        (folder / "machine.xml").write_text(machine.xml)
        believed = {"HWLOC_XMLFILE": str(folder / "machine.xml")}
    done = subprocess.run(
        [openmpi.launcher(), "--do-not-launch", "--display", display, "--hostfile", str(hosts), *options, "true"],
        env=os.environ | openmpi.environment() | believed,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(30),
    )
    return done.stdout if done.returncode == 0 else None


def as_reported(words: str) -> str:
    """The mapper's words in the lines of --report-bindings, which only appear when something is launched."""
    lines, host, rank = [], "", ""
    for line in words.splitlines():
        if "Data for node: " in line:
            host = line.split()[3]
        elif "Data for proc: " in line:
            rank = line.rstrip("]").rpartition(",")[2]
        elif "Binding: " in line:
            where = line.split("Binding: ")[1].strip()
            bound = "is not bound (or bound to all available processors)" if where == "UNBOUND" else f"bound to {where}"
            lines.append(f"[{host}:4711] Rank {rank} {bound}")
    return "\n".join(lines)


def as_drawn(rank: dict[str, Any], machine: dict[str, Any]) -> str:
    """A line of Open MPI 4's --report-bindings."""
    drawing = mask(rank, machine)
    bound = f"bound to : {drawing}" if "." in drawing else "is not bound (or bound to all available processors)"
    return f"[{rank['host']}:7] MCW rank {rank['rank']} {bound}"


def allowed(read: reports.Read) -> list[tuple[Any, ...]]:
    return [(rank["rank"], rank["host"], rank["units"], rank["packages"]) for rank in read.rank_map["ranks"]]


def in_the_picture(read: reports.Read) -> list[tuple[int, str, list[int]]]:
    """Who may run where, as the picture says it of each unit."""
    found: dict[tuple[int, str], list[int]] = {}
    for text in machine_picture(read.machine, read.rank_map).data[0].hovertext:
        unit, host = text.split("</b> of ")[0].removeprefix("<b>unit "), text.split(" of ")[1].split("<br>")[0]
        for line in text.split("<br>"):
            if line.startswith("rank "):
                found.setdefault((int(line.split()[1]), host), []).append(int(unit))
    return [(*key, sorted(units)) for key, units in sorted(found.items())]


@pytest.mark.real
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes, mappings, bindings, st.integers(1, 6), st.none() | st.just("linux") | st.integers(0, 1 << 16))
def test_all_notations_agree(
    tmp_path: Path, shape: tuple[str, int], mapping: tuple[str, int], binding: str, ranks: int, order: str | int | None
) -> None:
    machine = machines.synthetic(shape[0], numa=shape[1])
    if order == "linux":  # numbers second hardware threads behind all first ones
        machine = machines.read(written(machine.machine, interleaved=True))
    elif order is not None:
        numbers = random.Random(order).sample(range(len(machine.units)), len(machine.units))
        machine = machines.read(written(machine.machine, numbers=numbers))
    cores = f":pe={mapping[1]}" if mapping[1] > 1 else ""
    options = ["--map-by", mapping[0] + cores, "--bind-to", "core" if cores else binding, "-n", str(ranks)]
    words = asked(machine, tmp_path, "map", options)
    assume(words is not None)
    read = reports.read(str(words), machine.machine)
    assert read.machine is not None
    assert set(topology.machines(read.machine)) <= set(HOSTS)
    assert allowed(reports.read(as_reported(str(words)), machine.machine)) == allowed(read)
    bound = [rank for rank in read.rank_map["ranks"] if len(rank["units"]) < len(machine.units)]
    drawn = "\n".join(as_drawn(rank, read.machine) for rank in read.rank_map["ranks"])
    assert allowed(reports.read(drawn, machine.machine)) == allowed(read)
    assert in_the_picture(read) == [(rank, host, units) for rank, host, units, _ in allowed(read)]
    if "bound to :" in drawn:  # masks alone tell what the machine is like
        alone = reports.read(drawn)
        assert [mask(alone.rank_map["ranks"][rank["rank"]], alone.machine or {}) for rank in bound] == [
            mask(rank, read.machine) for rank in bound
        ]
