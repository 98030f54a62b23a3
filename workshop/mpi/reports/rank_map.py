"""Turns a report's bindings into a rank map, on a given machine or on the machine that the report describes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from workshop.core import topology, words
from workshop.mpi.reports.bindings import MappingReport, RankBinding, Rows, wrong


def place_ranks(
    report: MappingReport, machine: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The rank map that a report tells, and the machine that its numbers are of: the given one under the hosts' names,
    else as far as the report tells it. Raises BadInput where ranks are missing, or the machine is another one."""
    bindings = _in_order(report)
    firsts: dict[str, RankBinding] = {}  # the first binding of each host in the report
    for binding in sorted(bindings, key=lambda binding: binding.line):
        firsts.setdefault(binding.host, binding)
    hosts = {
        host: _described_host(machine, report, binding) if machine else _Host(report.rows.get(host) or [])
        for host, binding in firsts.items()
    }
    knows = ("cores", "packages", "numa") if machine else report.knows
    local: dict[str, int] = defaultdict(int)
    ranks = []
    for binding in bindings:
        places_of_rank = hosts[binding.host].places(binding)
        ranks.append(
            {
                "rank": binding.rank,
                "host": binding.host,
                "local_rank": local[binding.host],
                **{
                    name: list(numbers) if name in ("units", *knows) else [] for name, numbers in places_of_rank.items()
                },
                **({} if binding.pid is None else {"pid": binding.pid}),
            }
        )
        local[binding.host] += 1
    return {"measured": False, "ranks": ranks}, _machine(machine, {name: host.rows for name, host in hosts.items()})


def _in_order(report: MappingReport) -> list[RankBinding]:
    """The bindings in rank order, each rank once and none missing."""
    bindings = sorted(report.bindings, key=lambda binding: (binding.rank, binding.line))
    for before, binding in pairwise(bindings):
        if before.rank == binding.rank:
            raise wrong(
                binding.line,
                f"rank {binding.rank} is there a second time, after line {before.line}; a report should have each rank "
                "once.",
            )
    for expected, binding in enumerate(bindings):
        if binding.rank != expected:
            raise wrong(
                binding.line, f"rank {binding.rank} is there, but rank {expected} is not; give the whole report."
            )
    return bindings


def _described_host(machine: Mapping[str, Any], report: MappingReport, binding: RankBinding) -> _Host:
    """The units of the binding's host on the given machine, which is described for each host or once for all. Raises
    BadInput where that can't be the machine that the report is of."""
    machines = topology.machines(dict(machine))
    name = binding.host if binding.host in machines or len(machines) > 1 else next(iter(machines), "")
    if name not in machines:
        raise wrong(binding.line, f"host {name} is not one of the machine's hosts {', '.join(machines)}.")
    rows: Rows = sorted(machines[name]["units"], key=lambda row: (row["package"], row["core"], row["unit"]))
    reported = len(report.rows.get(binding.host) or [])
    # Units may be numbered with gaps.
    if report.shows_machine and reported not in (len(rows), max(row["unit"] for row in rows) + 1):
        size = words.count(len(rows), "hardware thread")
        raise wrong(binding.line, f"the report is of a machine with {reported} hardware threads, this one has {size}.")
    return _Host(rows, described=True)


class _Host:
    """The units of a host, and the units of each binding. A text can have a thousand equal bindings, so each is
    computed once."""

    def __init__(self, rows: Rows, described: bool = False) -> None:
        self.rows, self.given = rows, described
        self._units = {unit_row["unit"]: [unit_row] for unit_row in rows}
        self._cores: dict[int, Rows] = {}
        # Open MPI 5 numbers cores (`core:L0`) by hwloc's logical numbers; but on a machine where no core has several
        # hardware threads, by the operating system's numbers of their units.
        key = "unit" if len({unit_row["core"] for unit_row in rows}) == len(rows) else "core"
        for unit_row in rows:
            self._cores.setdefault(unit_row[key], []).append(unit_row)
        self._places: dict[tuple[object, ...], dict[str, list[int]]] = {}

    def places(self, binding: RankBinding) -> dict[str, list[int]]:
        """The units that a binding stands for, and their cores, packages and NUMA nodes, in order. Raises BadInput."""
        place = (binding.bound, binding.units, binding.cores, binding.hardware_threads, binding.packages)
        if place not in self._places:
            self._places[place] = topology.places(self._rows(binding))
        return self._places[place]

    def _rows(self, binding: RankBinding) -> Rows:
        """The rows of the units. Of a given machine hardware threads (of masks) are counted in the order of its cores;
        a report's own rows are numbered as the report numbers them."""
        if binding.bound is None:
            return []
        if binding.bound is False:
            return self.rows
        if binding.cores:
            return [unit_row for of_core in _named(binding, "core", binding.cores, self._cores) for unit_row in of_core]
        if binding.hardware_threads and self.given:
            beyond = [thread for thread in binding.hardware_threads if thread >= len(self.rows)]
            if beyond:
                raise wrong(binding.line, f"hardware thread {beyond[0]}, but the machine has {len(self.rows)}.")
            return [self.rows[thread] for thread in binding.hardware_threads]
        named = binding.units or binding.hardware_threads
        return [unit_row for unit_rows in _named(binding, "unit", named, self._units) for unit_row in unit_rows]


def _named(binding: RankBinding, what: str, numbers: Sequence[int], rows_by_number: Mapping[int, Rows]) -> list[Rows]:
    """The rows of the cores or units with these numbers. Raises BadInput where the machine doesn't have one, or has it
    in another package."""
    named_rows = []
    for number, package in zip_longest(numbers, binding.packages):
        if number not in rows_by_number:
            raise wrong(binding.line, f"{what} {number}, but the machine has {what}s {words.ranges(rows_by_number)}.")
        real = rows_by_number[number][0]["package"]
        if package not in (None, real):
            raise wrong(
                binding.line,
                f"{what} {number} should be in package {package}, but on the machine it is in {real}.",
            )
        named_rows.append(rows_by_number[number])
    return named_rows


def _machine(machine: Mapping[str, Any] | None, rows: Mapping[str, Rows]) -> dict[str, Any] | None:
    """All hosts' machines in one description; None where the report doesn't describe them."""
    if not any(rows.values()):
        return None
    machines = topology.machines(dict(machine)) if machine else {}
    usual = next(iter(machines.values()), {"model": "", "memory_bytes": None})
    described = [
        {
            **{key: value for key, value in machines.get(host, usual).items() if key != "more"},
            "host": host,
            "units": units,
        }
        for host, units in rows.items()
        if units
    ]
    return topology.together(described)
