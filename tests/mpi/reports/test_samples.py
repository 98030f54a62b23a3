"""Readers on what real MPIs printed; host names are made neutral. tests/mpi/reports/samples says by its files' names
which MPI printed what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.analysis.cases import machine
from workshop.core.errors import BadInput
from workshop.mpi import reports
from workshop.mpi.reports.openmpi_bindings import mask

VERSION_4, VERSION_5 = "Bindings of Open MPI 2 to 4", "Open MPI 5's bindings"
SAMPLES = Path(__file__).parent / "samples"
EXAMPLE = ["[BB/BB/../..][../../../..]", "[../../../..][BB/BB/../..]"]  # the workshop's, for each host


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


def drawn(read: reports.Read) -> list[str]:
    assert read.machine is not None
    return [mask(report, read.machine) for report in read.rank_map["ranks"]]


def facts(read: reports.Read, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(report[name] for name in names) for report in read.rank_map["ranks"]]


@pytest.mark.parametrize(
    ("name", "kind", "masks"),
    [
        ("openmpi5-bindings-two-ranks", VERSION_5, ["[B/.]", "[./B]"]),
        ("openmpi5-bindings-overloaded", VERSION_5, ["[B/.]", "[B/.]", "[./B]", "[./B]"]),
        ("openmpi5-bindings-pe2", VERSION_5, ["[B/B]"]),
        ("openmpi5-map-three-hosts", VERSION_5, ["[B/B][./.]", "[./.][B/B]"] * 3),
        ("openmpi5-map-over-packages", VERSION_5, ["[B/B][B/B][./.][./.]", "[./.][./.][B/B][B/B]"]),
        ("openmpi4-bindings-two-ranks", VERSION_4, ["[B/.]", "[./B]"]),
        ("openmpi4-bindings-overloaded", VERSION_4, ["[B/.]", "[./B]", "[B/.]", "[./B]"]),
        ("openmpi4-bindings-example", VERSION_4, EXAMPLE),
        (
            "openmpi4-bindings-hwthreads",
            VERSION_4,
            ["[B./../../..][../../../..]", "[.B/../../..][../../../..]", "[../B./../..][../../../..]"],
        ),
        (
            "openmpi4-bindings-sockets",
            VERSION_4,
            ["[BB/BB/BB/BB][../../../..]", "[../../../..][BB/BB/BB/BB]"] * 2,
        ),
        (
            "openmpi4-bindings-over-packages",
            VERSION_4,
            ["[BB/BB][BB/BB][../..][../..]", "[../..][../..][BB/BB][BB/BB]"],
        ),
        ("intel-debug5", "Intel MPI's table of pinned processors", ["[B/.]", "[./B]"]),
        ("intel-pin-list", "Intel MPI's table of pinned processors", ["[./B]", "[B/.]"]),
        ("intel-pin-domain-omp", "Intel MPI's table of pinned processors", ["[B/B]"]),
        ("intel-pin-off", "Intel MPI's table of pinned processors", ["[B/B]", "[B/B]"]),
        ("mpich-two-units", "MPICH's bindings", ["[B/.]", "[./B]"]),
        (
            "mpich-eight-units",
            "MPICH's bindings",
            ["[B/B/./././././.]", "[././././B/B/./.]", "[././B/B/./././.]", "[././././././B/B]"],
        ),
    ],
)
def test_every_notation_is_read(name: str, kind: str, masks: list[str]) -> None:
    read = reports.read(sample(name))
    assert (read.name, drawn(read)) == (kind, masks)
    assert read.rank_map["measured"] is False


@pytest.mark.parametrize("name", ["openmpi5-map-three-hosts", "openmpi4-bindings-example"])
def test_on_the_machine_that_it_is_of_a_core_is_its_hardware_threads(name: str) -> None:
    linux = machine(8, packages=2, hardware_threads=2, host="")  # unit 8 is core 0's second hardware thread
    read = reports.read(sample(name), linux)
    assert drawn(read)[:2] == EXAMPLE
    assert facts(read, "units", "cores", "packages", "numa", "local_rank")[1] == ([4, 5, 12, 13], [4, 5], [1], [1], 1)


def test_mpich_s_digits_are_units_of_the_machine() -> None:
    read = reports.read(sample("mpich-three-hosts"), machine(8, packages=2, host=""))
    assert facts(read, "rank", "host", "cores", "packages") == [
        (rank, host, [4, 5] if rank % 2 else [0, 1], [rank % 2])
        for rank, host in enumerate(["hostA", "hostA", "hostB", "hostB", "hostC", "hostC"])
    ]


def test_intel_s_map_tells_hosts_and_nothing_else() -> None:
    for described in (None, machine(2, host="")):
        read = reports.read(sample("intel-rank-map-three-hosts"), described)
        assert read.name == "Intel MPI's map of ranks"
        assert facts(read, "host", "local_rank", "units") == [
            (host, local, []) for host in ("hostA", "hostB", "hostC") for local in (0, 1)
        ]


@pytest.mark.parametrize("host", ["node1", "node-with-28-letters-abcdefgh", f"{'a' * 60}.{'b' * 60}.example.org"])
@pytest.mark.parametrize("braces", [True, False])
def test_intel_s_table_is_as_wide_as_its_names_and_may_have_no_braces(host: str, braces: bool) -> None:
    cut = "\n" + " " * 30 if braces else ""  # a long list goes on in the next line
    units = [part if not braces else f"{{{part}}}" for part in ("0", "1-3", f"4,6,{cut}8")]
    text = f"[0] MPI startup(): Rank    Pid      {'Node name':{len(host)}}  Pin cpu\n" + "".join(
        f"[0] MPI startup(): {rank:<7} {70 + rank:<8} {host}  {where}\n" for rank, where in enumerate(units)
    )
    read = reports.read(text + "[0] MPI startup(): I_MPI_DEBUG=5\n")
    assert read.name == "Intel MPI's table of pinned processors"
    assert facts(read, "host", "units") == [(host, [0]), (host, [1, 2, 3]), (host, [4, 6, 8])]


@pytest.mark.parametrize(
    ("line", "kind", "cores"),
    [
        ("[node1:7]  MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/./././.]", VERSION_4, [0]),
        (
            "[node1:7] MCW rank 0 is not bound (or bound to all available processors)",
            f"{VERSION_4}, or of PRRTE",
            [0, 1, 2, 3, 4],
        ),
        ("[node1:7] MCW rank 0 bound to package[0][core:L1]", VERSION_5, [1]),
        (
            "[node1:7] Rank 0 is not bound (or bound to all available processors)",
            VERSION_5,
            [0, 1, 2, 3, 4],
        ),
    ],
)
def test_the_program_is_named_that_writes_so(line: str, kind: str, cores: list[int]) -> None:
    """`MCW rank` stands in lines of Open MPI 2 to 4, and of PRRTE."""
    read = reports.read(f"{line}\n", machine(5))
    assert (read.name, facts(read, "cores")) == (kind, [(cores,)])


@pytest.mark.parametrize("name", ["openmpi5-bindings-none", "openmpi4-bindings-not-bound"])
def test_unbound_ranks_have_all_of_a_machine_that_is_known(name: str) -> None:
    assert facts(reports.read(sample(name)), "units")[0] == ([],)
    assert facts(reports.read(sample(name), machine(4)), "units", "cores")[0] == ([0, 1, 2, 3], [0, 1, 2, 3])


@pytest.mark.parametrize("name", sorted(path.stem for path in SAMPLES.glob("*.txt") if "-map-" not in path.stem))
def test_whatever_else_is_printed_does_not_matter(name: str) -> None:
    text = sample(name)
    try:
        expected = reports.read(text)
    except BadInput:
        return
    lines = [f"epoch 1 [loss=0.3] (x:y)\r\n{line}" for line in text.splitlines()]
    noisy = "WARNING: rank 3 bound to fail, core is a word, too\n\n" + "\r\n".join(lines) + "\nprocess ended\n"
    assert reports.read(noisy) == expected


def test_colours_are_left_out() -> None:
    text = "".join(f"\x1b[33m[nodea:01234] Rank {rank} bound to package[0][core:{rank}]\x1b[0m\n" for rank in range(2))
    assert [one["cores"] for one in reports.read(text).rank_map["ranks"]] == [[0], [1]]
