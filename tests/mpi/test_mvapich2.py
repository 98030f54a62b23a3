"""MVAPICH2's documented rules of binding, on machines for which its guide's words say the map."""

from __future__ import annotations

import pytest

from workshop.core import machines
from workshop.core.placement import Placement
from workshop.mpi import mapper, mvapich2, reader

HYBRID = {"MV2_CPU_BINDING_POLICY": "hybrid"}


def units(shape: str, count: int, threads: int = 1, **variables: str) -> list[list[int]]:
    return mvapich2.places(variables, threads, count, machines.read(shape).units)


@pytest.mark.parametrize(
    ("shape", "count", "threads", "policy", "expected"),
    [
        ("2x4", 2, 4, "linear", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("2x2x2", 2, 4, "linear", [[0, 2, 4, 6], [1, 3, 5, 7]]),  # a thread on each core first
        ("2x2x2", 3, 2, "compact", [[0, 1], [2, 3], [4, 5]]),
        ("2x4", 2, 2, "spread", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("2x2x2", 2, 2, "spread", [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ("2x4", 6, 1, "spread", [[0], [1], [2], [4], [5], [6]]),
        ("2x2x2", 3, 1, "bunch", [[0], [2], [4]]),
        ("2x4", 4, 1, "scatter", [[0], [4], [1], [5]]),
        ("2x4,numa=2", 5, 1, "numa", [[0], [2], [4], [6], [1]]),
    ],
)
def test_the_hybrid_policies(shape, count, threads, policy, expected):
    assert units(shape, count, threads, **HYBRID, MV2_HYBRID_BINDING_POLICY=policy) == expected


def test_the_policies_without_threads():
    assert units("2x4", 3, MV2_CPU_BINDING_POLICY="bunch") == [[0], [1], [2]]
    assert units("2x4", 3, MV2_CPU_BINDING_POLICY="scatter") == [[0], [4], [1]]
    level = {"MV2_CPU_BINDING_POLICY": "scatter", "MV2_CPU_BINDING_LEVEL": "socket"}
    assert units("2x2", 3, **level) == [[0, 1], [2, 3], [0, 1]]
    assert units("2x4", 2, MV2_CPU_MAPPING="0,2-3:5") == [[0, 2, 3], [5]]
    assert units("1x2", 3, MV2_ENABLE_AFFINITY="0") == [[0, 1]] * 3
    assert units("2x4", 2, 4, MV2_THREADS_PER_PROCESS="2") == [[0, 1], [2, 3]]


def test_a_line_of_mpirun_rsh_with_hybrid_binding_has_a_map():
    line = (
        "mpirun_rsh -np 4 n1 n1 n2 n2 MV2_CPU_BINDING_POLICY=hybrid MV2_HYBRID_BINDING_POLICY=spread "
        "OMP_NUM_THREADS=24 python train.py"
    )
    machine = machines.read("2x22x2")
    read = reader.parse(line, None, machine)
    assert read.unknown == ()
    answer = mapper.predict(read.placement, machine, unknown=read.unknown)
    assert answer.rank_map is not None, answer.note
    ranks = [(report["host"], report["cores"]) for report in answer.rank_map["ranks"]]
    halves = [list(range(22)), list(range(22, 44))]
    assert ranks == [("n1", halves[0]), ("n1", halves[1]), ("n2", halves[0]), ("n2", halves[1])]
    assert "MVAPICH2's documented rules, not asked of the MPI" in (answer.note or "")
    assert "24 threads on 22 cores" in (answer.warning or "")


@pytest.mark.parametrize(
    ("shape", "count", "variables", "reason"),
    [
        ("2x4", 2, {"MV2_CPU_MAPPING": "0:8"}, "processors of the host for each of 2 ranks"),
        ("2x4", 3, {"MV2_CPU_MAPPING": "0:1"}, "processors of the host for each of 3 ranks"),
        ("2x4", 2, {"MV2_CPU_BINDING_POLICY": "spread"}, "should be bunch, scatter or hybrid"),
        ("1x4", 2, {"MV2_CPU_BINDING_POLICY": "scatter"}, "refuses scatter on a machine of one package"),
        ("2x4", 4, {"MV2_THREADS_PER_PROCESS": "4"}, "refuses 16 threads on a host of 8 processors"),
        ("2x4", 2, {"MV2_THREADS_PER_PROCESS": "x"}, "number of threads from 1 to 1024"),
        ("2x4", 5, HYBRID | {"MV2_HYBRID_BINDING_POLICY": "spread"}, "5 ranks can't be drawn for spread"),
        ("2x4", 2, HYBRID | {"MV2_HYBRID_BINDING_POLICY": "compact", "MV2_THREADS_PER_PROCESS": "2"}, "on one core"),
        ("2x4", 2, {"MV2_CPU_BINDING_POLICY": "bunch", "MV2_CPU_BINDING_LEVEL": "socket"}, "who shares a socket"),
        ("2x4", 2, {"MV2_CPU_BINDING_LEVEL": "board"}, "should be core, socket or numanode"),
        ("2x4", 2, {"MV2_CPU_PINNING": "1"}, "rules are drawn for MV2_CPU_PINNING"),
    ],
)
def test_what_the_rules_do_not_say_is_refused_with_the_reason(shape, count, variables, reason):
    answer = mapper.predict(Placement(mpi="mpich", ranks=count, environment=variables), machines.read(shape))
    assert answer.rank_map is None and not answer.decided
    assert reason in (answer.note or "")
