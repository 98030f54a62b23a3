"""Intel MPI's output on ranks: the table of pinned processors (`I_MPI_DEBUG=5`) and `-print-rank-map`.

The bindings that MPICH's launcher prints with HYDRA_TOPO_DEBUG=1: a digit for each processing unit, 1 where the
process may run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from workshop.mpi.reports.bindings import HOST, MappingReport, RankBinding, excerpt, number, numbers, row, wrong

_HEAD = re.compile(r"Rank\s{1,20}Pid\s{1,20}Node name\s{1,300}Pin cpu")  # as wide as the longest name
_ROW = re.compile(
    rf"MPI startup\(\):\s{{1,40}}([0-9]{{1,9}})\s{{1,40}}([0-9]{{1,10}})\s{{1,40}}({HOST})\s{{1,300}}(\S.*)$"
)
_BEGUN = re.compile(r"MPI startup\(\):\s{1,40}[0-9]")
_RANKS = re.compile(rf"^\(({HOST}):([0-9][^()]*)\)$")


def pinning(text: str) -> MappingReport | None:
    """The table of ranks with the processors that they are pinned to; None where there is none. Raises BadInput."""
    lines = text.split("\n")
    head = next((number for number, words in enumerate(lines) if _HEAD.search(words)), None)
    if head is None:
        return None
    report = MappingReport("Intel MPI's table of pinned processors")
    at = head + 1
    while at < len(lines):
        if _BEGUN.search(lines[at]):
            binding, at = _pinned(lines, at)
            report.bindings.append(binding)
        elif "MPI startup():" in lines[at]:
            break  # what follows the table; lines of the program may stand within it
        else:
            at += 1
    if not report.bindings:
        raise wrong(head + 1, "no rank follows below this head of the table; give the whole table.")
    units: dict[str, set[int]] = defaultdict(set)
    for binding in report.bindings:
        units[binding.host].update(binding.units)
    report.rows = {host: [row(unit, unit, 0) for unit in sorted(host_units)] for host, host_units in units.items()}
    return report


def _pinned(lines: Sequence[str], at: int) -> tuple[RankBinding, int]:
    """One rank of the table, whose processors may take several lines, and the line of the next rank."""
    line = at + 1
    match = _ROW.search(lines[at].rstrip())
    if not match:
        raise wrong(
            line, f"{excerpt(lines[at])} should have rank, pid, host and processors, like 0 4711 node1 {{0-3}}."
        )
    rank, pid, host, where = number(match[1], line, "the rank"), int(match[2]), match[3], match[4].strip()
    if where == "n/a":
        return RankBinding(rank, host, line, bound=False, pid=pid), at + 1
    braces = where.startswith("{")
    while braces and not where.endswith("}") and at + 1 < len(lines) and "MPI startup" not in lines[at + 1]:
        at += 1
        where += lines[at].strip()
    units = numbers(where.removeprefix("{").removesuffix("}"), line, f"the processors of rank {rank}")
    return RankBinding(rank, host, line, units=units, pid=pid), at + 1


def ranks(text: str) -> MappingReport | None:
    """Which ranks are on which host, and no more than that; None where the text doesn't say. Raises BadInput."""
    report = MappingReport("Intel MPI's map of ranks")
    for line, words in enumerate(text.split("\n"), 1):
        if match := _RANKS.match(words.strip()[:100_000]):
            for rank in numbers(match[2], line, f"the ranks of {match[1]}"):
                report.bindings.append(RankBinding(rank, match[1], line, bound=None))
    return report if report.bindings else None


_LINE = re.compile(r"process ([0-9]{1,9}) binding:(.*)$")
# Which rank a line is of, if MPICH was told to say so: `-l` writes [0], `-prepend-pattern "[%r@%h] "` writes [0@node1].
_WHO = re.compile(rf"\[([0-9]{{1,9}})(?:@({HOST}))?\]\s?$")
HERE = "localhost"


def read(text: str) -> MappingReport | None:
    """The bindings in a text; None where there are none. Raises BadInput."""
    report = MappingReport("MPICH's bindings", shows_machine=True)
    for line, words in enumerate(text.split("\n"), 1):
        match = _LINE.search(words.rstrip())
        if not match:
            continue
        digits = match[2].strip()
        if not digits or set(digits) - {"0", "1"}:
            raise wrong(line, f"the binding is {excerpt(digits)}; it should be a 0 or 1 for each processing unit.")
        units = tuple(unit for unit, digit in enumerate(digits) if digit == "1")
        if not units:
            raise wrong(line, "the binding has no 1, so the process could run nowhere.")
        who = _WHO.search(words[max(match.start() - 300, 0) : match.start()])
        rank, host = (int(who[1]), who[2] or HERE) if who else (int(match[1]), HERE)
        host_rows = report.rows.setdefault(host, [])
        host_rows += [row(unit, unit, 0) for unit in range(len(host_rows), len(digits))]
        report.bindings.append(RankBinding(rank, host, line, bound=len(units) < len(digits), units=units))
    return report if report.bindings else None
