"""How the seats of a report become a rank map, on the machine that somebody gives or on what the report tells of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from workshop import topology
from workshop.mpi.reports.seats import MOST_PLACES, Report, Rows, Seat, ranges, wrong


def seated(report: Report, machine: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The rank map that a report tells, and the machine that its numbers are of: the given one under the hosts' names,
    else as far as the report tells it. Raises BadInput where ranks are missing, or the machine is another one."""
    seats = _in_order(report)
    hosts = list(dict.fromkeys(seat.host for seat in sorted(seats, key=lambda seat: seat.line)))
    rows = {host: _given_rows(report, machine, host, seats) for host in hosts} if machine else report.rows
    local: dict[str, int] = defaultdict(int)
    ranks = []
    places = 0
    for seat in seats:
        there = rows.get(seat.host) or []
        units = _units(seat, there, given=machine is not None)
        places += len(units)
        if places > MOST_PLACES:
            raise wrong(seat.line, "the ranks up to here may run on more processors than can be shown.")
        told = [one for one in there if one["unit"] in units]

        def known(name: str, key: str, told: Rows = told) -> list[int]:
            return sorted({one[key] for one in told}) if machine or name in report.knows else []

        ranks.append(
            {
                "rank": seat.rank,
                "host": seat.host,
                "local_rank": local[seat.host],
                "units": sorted(units),
                "cores": known("cores", "core"),
                "packages": known("packages", "package"),
                "numa": known("numa", "numa"),
                **({} if seat.pid is None else {"pid": seat.pid}),
            }
        )
        local[seat.host] += 1
    return {"measured": False, "ranks": ranks}, _machine(machine, rows, hosts)


def _in_order(report: Report) -> list[Seat]:
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


def _given_rows(report: Report, machine: Mapping[str, Any], host: str, seats: Sequence[Seat]) -> Rows:
    """The units of a host of the given machine, if that can be the machine that the report is of."""
    line = next(seat.line for seat in seats if seat.host == host)
    machines = topology.machines(dict(machine))
    if host in machines:
        known = machines[host]
    elif len(machines) == 1:  # described once, for all hosts alike
        known = next(iter(machines.values()))
    else:
        raise wrong(line, f"host {host} is not one of the machine's hosts {', '.join(machines)}.")
    rows = sorted(known.get("units") or [], key=lambda one: (one["package"], one["core"], one["unit"]))
    told = report.rows.get(host) or []
    if told and report.whole and not _alike(told, rows, report.whole):
        there = _size(rows, "units" if report.whole == "units" else "both")
        raise wrong(line, f"the report is of a machine with {_size(told, report.whole)}, not of {there}.")
    return rows


def _alike(told: Rows, rows: Rows, whole: str) -> bool:
    """Whether what a report shows of a machine can be of this one."""
    if whole == "units":  # which may be numbered with gaps
        return len(told) in (len(rows), max((one["unit"] for one in rows), default=-1) + 1)
    return _shape(told, whole) == _shape(rows, whole)


def _shape(rows: Rows, whole: str) -> object:
    """What has to be the same: the packages' cores, their hardware threads, or how many each core has."""
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
        return _count(len(rows), "processing unit")
    cores = len({(one["package"], one["core"]) for one in rows})
    packages = _count(len({one["package"] for one in rows}), "package")
    if whole == "hardware_threads":
        return f"{packages} and {_count(len(rows), 'hardware thread')}"
    threads = f" and {_count(len(rows), 'hardware thread')}" if whole == "both" else ""
    return f"{packages}, {_count(cores, 'core')}{threads}"


def _count(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _units(seat: Seat, rows: Rows, given: bool) -> set[int]:
    """The processing units that a seat stands for. Of a given machine hardware threads (of masks) are counted in the
    order of its cores; a report's own rows are numbered as the report numbers them."""
    if seat.bound is None:
        return set()
    there = [one["unit"] for one in rows]
    if seat.bound is False:
        return set(there)
    if seat.cores:
        return _of_cores(seat, rows)
    if seat.hardware_threads and given:
        beyond = [thread for thread in seat.hardware_threads if thread >= len(there)]
        if beyond:
            raise wrong(seat.line, f"hardware thread {beyond[0]}, but the machine has {len(there)}.")
        return {there[thread] for thread in seat.hardware_threads}
    named = set(seat.units or seat.hardware_threads)
    missing = sorted(named - set(there))
    if missing:
        raise wrong(seat.line, f"unit {missing[0]}, but the machine has units {ranges(sorted(there))}.")
    real = {one["unit"]: one["package"] for one in rows}
    _check_packages(seat, "unit", seat.units, real)
    return named


def _of_cores(seat: Seat, rows: Rows) -> set[int]:
    """The units of cores, as Open MPI 5 numbers these (`core:L0`): by their logical numbers, but by the operating
    system's numbers of their units on a machine where no core has several hardware threads."""
    key = "unit" if len({one["core"] for one in rows}) == len(rows) else "core"
    wanted = set(seat.cores)
    found = [one for one in rows if one[key] in wanted]
    missing = sorted(wanted - {one[key] for one in found})
    if missing:
        there = ranges(sorted({one[key] for one in rows}))
        raise wrong(seat.line, f"core {missing[0]}, but the machine has cores {there}.")
    real = {one[key]: one["package"] for one in found}
    _check_packages(seat, "core", seat.cores, real)
    return {one["unit"] for one in found}


def _check_packages(seat: Seat, what: str, numbers: Sequence[int], real: Mapping[int, int]) -> None:
    """Refuse a seat that puts a core or unit into a package in which the machine doesn't have it. Raises BadInput."""
    for number, package in zip(numbers, seat.packages, strict=False):
        if real[number] != package:
            raise wrong(
                seat.line,
                f"{what} {number} should be in package {package}, but on the machine it is in {real[number]}.",
            )


def _machine(given: Mapping[str, Any] | None, rows: Mapping[str, Rows], hosts: Sequence[str]) -> dict[str, Any] | None:
    """All hosts' machines in one description; None where the report tells nothing of them."""
    if not any(rows.get(host) for host in hosts):
        return None
    known = topology.machines(dict(given)) if given else {}
    alike = next(iter(known.values()), {"model": "", "memory_bytes": None})
    described = [
        {**{key: value for key, value in known.get(host, alike).items() if key != "more"}, "host": host, "units": units}
        for host in hosts
        if (units := rows.get(host))
    ]
    return topology.together(described)
