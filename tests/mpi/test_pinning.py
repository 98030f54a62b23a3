"""Intel MPI's documented rules of pinning: held against its own launcher, which takes described machines for its own,
and against what real ranks report here."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from typing import Any

import pytest

from tests import mpis
from tests.mpi.ranks import CORES
from tests.support import limit
from workshop.core import machines, topology
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import intelmpi, mapper, pinning, reader, reports

SHAPES = ["2x22x2", "2x4x2", "2x4", "1x6x2", "4x4", "2x8,numa=2,l3=4"]
DOMAINS = ["core", "socket", "numa", "cache3", "node", "omp", "auto", "1", "2", "6", "auto:compact", "auto:scatter"]
ORDERS = ["", "bunch", "compact", "scatter", "spread"]
SLIDE = (
    "mpirun -H hostA,hostB,hostC -n 6 -ppn 2 -print-rank-map -genv I_MPI_PIN_DOMAIN=socket -genv OMP_NUM_THREADS=24 "
    "python train.py"
)


@pytest.fixture
def installed(workshop_home):
    mpis.use(workshop_home, "intelmpi")


def launched(described: MachineDescription, count: int, variables: dict[str, str], threads: int) -> list[list[int]]:
    """Where Intel MPI's launcher would pin ranks of this machine; its ranks only print what they are told."""
    told = 'echo "$PMI_RANK $I_MPI_PIN_INFO"'
    environment = intelmpi.environment(Placement(mpi="intelmpi")) | variables
    done = subprocess.run(
        [intelmpi.launcher(), "-launcher", "fork", "-n", str(count), "sh", "-c", told],
        env=os.environ | environment | {"HWLOC_SYNTHETIC": str(described.synthetic), "OMP_NUM_THREADS": str(threads)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert done.returncode == 0, done.stderr
    pins = {int(rank): units for rank, units in map(str.split, done.stdout.splitlines())}
    return [topology.parse_cpu_list(pins[rank]) for rank in range(count)]


@pytest.mark.real
@pytest.mark.parametrize("shape", SHAPES)
def test_a_map_is_that_of_the_launcher(installed, shape):
    described, compared = machines.read(shape), 0
    for number, (domain, order) in enumerate(product(DOMAINS, ORDERS)):
        variables = {"I_MPI_PIN_DOMAIN": domain, **({"I_MPI_PIN_ORDER": order} if order else {})}
        for count in {1 + number % 5, 2 + number % 7}:
            try:
                expected = pinning.places(variables, 3, count, described.units)
            except BadInput:
                continue
            assert launched(described, count, variables, 3) == expected, (variables, count)
            compared += 1
    assert compared > len(DOMAINS) * len(ORDERS)


@pytest.mark.real
@pytest.mark.parametrize(
    "variables",
    [
        {"I_MPI_PIN_DOMAIN": "[0xf0,0x3]"},
        {"I_MPI_PIN_PROCESSOR_LIST": "3,9"},
        {"I_MPI_PIN_PROCESSOR_LIST": "5"},
        {},
    ],
)
def test_lists_and_masks_are_the_launcher_s(installed, variables):
    described = machines.read("2x4x2")
    assert pinning.places(variables, 1, 2, described.units) == launched(described, 2, variables, 1)


@pytest.mark.real
@pytest.mark.parametrize(
    "variables",
    [
        *({"I_MPI_PIN_DOMAIN": domain} for domain in ("core", "socket", "numa", "cache3", "node", "auto", "omp", "1")),
        {"I_MPI_PIN_DOMAIN": "[0x1]"},
        {"I_MPI_PIN_PROCESSOR_LIST": "0"},
        {"I_MPI_PIN": "0"},
        {"I_MPI_PIN_DOMAIN": "core", "I_MPI_PIN_ORDER": "compact"},
    ],
)
def test_a_map_is_what_real_ranks_report(installed, variables):
    count = 1 if "[" in variables.get("I_MPI_PIN_DOMAIN", "") else CORES
    placement = Placement(mpi="intelmpi", ranks=count, environment=variables)
    answer = mapper.predict(placement, machines.this())
    assert answer.rank_map is not None, answer.note
    done = subprocess.run(
        [
            intelmpi.launcher(),
            "-n",
            str(count),
            *intelmpi.arguments(placement, CORES),
            sys.executable,
            "-c",
            "import mpi4py.MPI",
        ],
        env=os.environ | intelmpi.environment(placement) | placement.rank_environment() | {"I_MPI_DEBUG": "5"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert done.returncode == 0, done.stderr
    reported = reports.read(done.stdout, machines.this().machine | {"host": topology.machine()["host"]}).rank_map
    assert places(reported) == places(answer.rank_map)


def places(rank_map: dict[str, Any]) -> list[tuple[str, list[int]]]:
    return [(report["host"], report["units"]) for report in rank_map["ranks"]]


def test_the_slide_s_line_has_a_map_and_its_threads_are_flagged():
    machine = machines.read("2x4")
    answer = mapper.predict(reader.parse(SLIDE, None, machine).placement, machine)
    packages = [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert answer.rank_map is not None
    assert places(answer.rank_map) == [(f"host{'ABC'[rank // 2]}", packages[rank % 2]) for rank in range(6)]
    assert answer.rank_map["measured"] is False
    assert "documented rules, not asked of the MPI" in (answer.note or "")
    assert "24 threads on 4 cores" in (answer.warning or "")


@pytest.mark.parametrize("shape", ["2x22x2", "2x8,numa=2", "1x6"])
def test_every_rank_has_a_place_and_cores_are_shared_only_where_they_must(shape):
    described = machines.read(shape)
    for order, count in product(("bunch", "compact", "spread"), (1, 2, 4)):
        domains = pinning.places({"I_MPI_PIN_DOMAIN": "core", "I_MPI_PIN_ORDER": order}, 1, count, described.units)
        units = [unit for domain in domains for unit in domain]
        assert len(units) == len(set(units)) == count * described.count("unit") // described.count("core")


@pytest.mark.parametrize(
    ("shape", "count", "variables", "reason"),
    [
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "cache"}, "gives ranks what auto does"),
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "[f,f0]"}, "2 hexadecimal masks of the host"),
        ("2x4", 3, {"I_MPI_PIN_DOMAIN": "[0xf,0xf0]"}, "3 hexadecimal masks"),
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "[0xf,0xf00]"}, "2 hexadecimal masks"),
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "4:compact"}, "a layout can only follow auto"),
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "board"}, "should be core, socket"),
        ("2x4", 2, {"I_MPI_PIN_ORDER": "range"}, "should be bunch, compact"),
        ("2x4", 2, {"I_MPI_PIN_DOMAIN": "numa", "I_MPI_PIN_ORDER": "spread"}, "cores, not NUMA nodes"),
        ("4x4", 2, {"I_MPI_PIN_ORDER": "scatter"}, "more than two packages"),
        ("2x4", 8, {"I_MPI_PIN_ORDER": "scatter"}, "next to each other"),
        ("2x4x2", 9, {}, "which ranks share a core"),
        ("2x8,numa=2", 5, {}, "NUMA nodes of a package get equally many"),
        ("2x4", 2, {"I_MPI_PIN_CELL": "core"}, "rules are drawn for I_MPI_PIN_CELL"),
        ("2x4", 2, {"I_MPI_PIN_PROCESSOR_LIST": "allcores"}, "should be like 0,2"),
        ("2x4", 2, {"I_MPI_PIN_PROCESSOR_LIST": "0,8"}, "processors of the host"),
        ("2x4", 2, {"I_MPI_PIN_PROCESSOR_LIST": "0", "I_MPI_PIN_DOMAIN": "core"}, "and no domain"),
    ],
)
def test_what_the_rules_do_not_say_is_refused_with_the_reason(shape, count, variables, reason):
    placement = Placement(mpi="intelmpi", ranks=count, environment=variables or {"I_MPI_PIN_DOMAIN": "auto"})
    answer = mapper.predict(placement, machines.read(shape))
    assert answer.rank_map is None and answer.refused is None
    assert reason in (answer.note or "") and "\n" not in (answer.note or "")
