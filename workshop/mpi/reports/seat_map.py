"""Turns a report's seats into a rank map, on a given machine or on the machine that the report describes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from workshop.core import topology, words
from workshop.mpi.reports.seats import MOST_PLACES, MappingReport, RankSeat, Rows, ranges, wrong


def seated(report: MappingReport, machine: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The rank map that a report tells, and the machine that its numbers are of: the given one under the hosts' names,
    else as far as the report tells it. Raises BadInput where ranks are missing, or the machine is another one."""
    seats = _in_order(report)
    firsts: dict[str, RankSeat] = {}  # the seat of each host that is told first
    for seat in sorted(seats, key=lambda seat: seat.line):
        firsts.setdefault(seat.host, seat)
    known = _Given(machine) if machine else None
    hosts = {
        host: known.host(report, seat) if known else _Host(report.rows.get(host) or []) for host, seat in firsts.items()
    }
    knows = ("cores", "packages", "numa") if machine else report.knows
    local: dict[str, int] = defaultdict(int)
    ranks = []
    places = 0
    for seat in seats:
        found = hosts[seat.host].found(seat)
        places += len(found["units"])
        if places > MOST_PLACES:
            raise wrong(seat.line, "the ranks up to here may run on more processors than can be shown.")
        ranks.append(
            {
                "rank": seat.rank,
                "host": seat.host,
                "local_rank": local[seat.host],
                **{name: list(numbers) if name in ("units", *knows) else [] for name, numbers in found.items()},
                **({} if seat.pid is None else {"pid": seat.pid}),
            }
        )
        local[seat.host] += 1
    return {"measured": False, "ranks": ranks}, _machine(machine, {name: host.rows for name, host in hosts.items()})


def _in_order(report: MappingReport) -> list[RankSeat]:
    """The seats in rank order, each rank once and none missing."""
    seats = sorted(report.seats, key=lambda seat: (seat.rank, seat.line))
    for before, seat in pairwise(seats):
        if before.rank == seat.rank:
            raise wrong(
                seat.line,
                f"rank {seat.rank} is there a second time, after line {before.line}; a report should have each rank "
                "once. Two worlds of one rank look like this, too.",
            )
    for expected, seat in enumerate(seats):
        if seat.rank != expected:
            raise wrong(seat.line, f"rank {seat.rank} is there, but rank {expected} is not; give the whole report.")
    return seats


class _Given:
    """The machine that somebody gives: of each host, or described once for all hosts alike."""

    def __init__(self, machine: Mapping[str, Any]) -> None:
        self.machines = topology.machines(dict(machine))
        self._hosts: dict[str, _Host] = {}

    def host(self, report: MappingReport, seat: RankSeat) -> _Host:
        """The units of the seat's host, if that can be the machine that the report is of. Raises BadInput."""
        name = seat.host if seat.host in self.machines or len(self.machines) > 1 else next(iter(self.machines), "")
        if name not in self.machines:
            raise wrong(seat.line, f"host {name} is not one of the machine's hosts {', '.join(self.machines)}.")
        if name not in self._hosts:
            rows = self.machines[name].get("units") or []
            ordered = sorted(rows, key=lambda one: (one["package"], one["core"], one["unit"]))
            self._hosts[name] = _Host(ordered, given=True)
        there = self._hosts[name]
        told = report.rows.get(seat.host) or []
        if told and report.whole and not _alike(told, there.rows, report.whole):
            size = _size(there.rows, "units" if report.whole == "units" else "both")
            raise wrong(seat.line, f"the report is of a machine with {_size(told, report.whole)}, not of {size}.")
        return there


def _alike(told: Rows, rows: Rows, whole: str) -> bool:
    """Whether what a report shows of a machine can be of this one."""
    if whole == "units":  # which may be numbered with gaps
        return len(told) in (len(rows), max((one["unit"] for one in rows), default=-1) + 1)
    return _shape(told, whole) == _shape(rows, whole)


def _shape(rows: Rows, whole: str) -> object:
    """The part that has to be equal: the packages' cores, their hardware threads, or the threads of each core."""
    per_package: dict[int, list[int]] = defaultdict(list)
    per_core: dict[tuple[int, int], int] = defaultdict(int)
    for one in rows:
        per_core[one["package"], one["core"]] += 1
    for (package, _), threads in sorted(per_core.items()):
        per_package[package].append(threads if whole != "cores" else 1)
    if whole == "hardware_threads":
        return [sum(threads) for _, threads in sorted(per_package.items())]
    return [threads for _, threads in sorted(per_package.items())]


def _size(rows: Rows, whole: str) -> str:
    if whole == "units":
        return words.count(len(rows), "processing unit")
    cores = len({(one["package"], one["core"]) for one in rows})
    packages = words.count(len({one["package"] for one in rows}), "package")
    if whole == "hardware_threads":
        return f"{packages} and {words.count(len(rows), 'hardware thread')}"
    threads = f" and {words.count(len(rows), 'hardware thread')}" if whole == "both" else ""
    return f"{packages}, {words.count(cores, 'core')}{threads}"


class _Host:
    """The units of a host, and the units of each seat. A text can have a thousand equal seats, so each is computed
    once."""

    def __init__(self, rows: Rows, given: bool = False) -> None:
        self.rows, self.given = rows, given
        self._units = {one["unit"]: [one] for one in rows}
        self._cores: dict[int, Rows] = {}
        # Open MPI 5 numbers cores (`core:L0`) by hwloc's logical numbers; but on a machine where no core has several
        # hardware threads, by the operating system's numbers of their units.
        key = "unit" if len({one["core"] for one in rows}) == len(rows) else "core"
        for one in rows:
            self._cores.setdefault(one[key], []).append(one)
        self._found: dict[tuple[object, ...], dict[str, list[int]]] = {}

    def found(self, seat: RankSeat) -> dict[str, list[int]]:
        """The units that a seat stands for, and their cores, packages and NUMA nodes, in order. Raises BadInput."""
        place = (seat.bound, seat.units, seat.cores, seat.hardware_threads, seat.packages)
        if place not in self._found:
            rows = self._rows(seat)
            keys = {"units": "unit", "cores": "core", "packages": "package", "numa": "numa"}
            self._found[place] = {name: sorted({one[key] for one in rows}) for name, key in keys.items()}
        return self._found[place]

    def _rows(self, seat: RankSeat) -> Rows:
        """The rows of the units. Of a given machine hardware threads (of masks) are counted in the order of its cores;
        a report's own rows are numbered as the report numbers them."""
        if seat.bound is None:
            return []
        if seat.bound is False:
            return self.rows
        if seat.cores:
            return [one for of_core in _named(seat, "core", seat.cores, self._cores) for one in of_core]
        if seat.hardware_threads and self.given:
            beyond = [thread for thread in seat.hardware_threads if thread >= len(self.rows)]
            if beyond:
                raise wrong(seat.line, f"hardware thread {beyond[0]}, but the machine has {len(self.rows)}.")
            return [self.rows[thread] for thread in seat.hardware_threads]
        named = seat.units or seat.hardware_threads
        return [one for found in _named(seat, "unit", named, self._units) for one in found]


def _named(seat: RankSeat, what: str, numbers: Sequence[int], there: Mapping[int, Rows]) -> list[Rows]:
    """The rows of the cores or units with these numbers. Raises BadInput where the machine doesn't have one, or has it
    in another package."""
    found = []
    for number, package in zip_longest(numbers, seat.packages):
        if number not in there:
            raise wrong(seat.line, f"{what} {number}, but the machine has {what}s {ranges(sorted(there))}.")
        real = there[number][0]["package"]
        if package not in (None, real):
            raise wrong(
                seat.line,
                f"{what} {number} should be in package {package}, but on the machine it is in {real}.",
            )
        found.append(there[number])
    return found


def _machine(given: Mapping[str, Any] | None, rows: Mapping[str, Rows]) -> dict[str, Any] | None:
    """All hosts' machines in one description; None where the report doesn't describe them."""
    if not any(rows.values()):
        return None
    known = topology.machines(dict(given)) if given else {}
    alike = next(iter(known.values()), {"model": "", "memory_bytes": None})
    described = [
        {**{key: value for key, value in known.get(host, alike).items() if key != "more"}, "host": host, "units": units}
        for host, units in rows.items()
        if units
    ]
    return topology.together(described)
