"""What Intel MPI says of ranks: the table of pinned processors (`I_MPI_DEBUG=5`) and `-print-rank-map`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from workshop.mpi.reports.seats import HOST, MappingReport, RankSeat, number, numbers, row, shown, wrong

_HEAD = re.compile(r"Rank\s{1,20}Pid\s{1,20}Node name\s{1,300}Pin cpu")  # as wide as the longest name
_ROW = re.compile(
    rf"MPI startup\(\):\s{{1,40}}([0-9]{{1,9}})\s{{1,40}}([0-9]{{1,10}})\s{{1,40}}({HOST})\s{{1,300}}(\S.*)$"
)
_BEGUN = re.compile(r"MPI startup\(\):\s{1,40}[0-9]")
_RANKS = re.compile(rf"^\(({HOST}):([0-9][^()]*)\)$")
_LIST = re.compile(r"[0-9]{1,6}(?:-[0-9]{1,6})?(?:,[0-9]{1,6}(?:-[0-9]{1,6})?)*")  # as some versions write it
_LONGEST = 64  # lines over which a list of processors may go


def pinning(text: str) -> MappingReport | None:
    """The table of ranks with the processors that they are pinned to; None where there is none. Raises BadInput."""
    lines = text.split("\n")
    head = next((number for number, words in enumerate(lines) if _HEAD.search(words)), None)
    if head is None:
        return None
    report = MappingReport("intel-pinning")
    at = head + 1
    while at < len(lines):
        if _BEGUN.search(lines[at]):
            seat, at = _pinned(lines, at)
            report.seats.add(seat)
        elif "MPI startup():" in lines[at]:
            break  # what follows the table; lines of the program may stand within it
        else:
            at += 1
    if not report.seats:
        raise wrong(head + 1, "no rank follows below this head of the table; give the whole table.")
    units: dict[str, set[int]] = defaultdict(set)
    for seat in report.seats:
        units[seat.host].update(seat.units)
    report.rows = {host: [row(unit, unit, 0) for unit in sorted(there)] for host, there in units.items()}
    return report


def _pinned(lines: Sequence[str], at: int) -> tuple[RankSeat, int]:
    """One rank of the table, whose processors may take several lines, and the line of the next rank."""
    line = at + 1
    found = _ROW.search(lines[at].rstrip())
    if not found:
        raise wrong(line, f"{shown(lines[at])} should have rank, pid, host and processors, like 0 4711 node1 {{0-3}}.")
    rank, pid, host, where = number(found[1], line, "the rank"), int(found[2]), found[3], found[4].strip()
    if where == "n/a":
        return RankSeat(rank, host, line, bound=False, pid=pid), at + 1
    braces = where.startswith("{")
    while (
        ("}" not in where if braces else where.endswith(","))
        and at + 1 < len(lines)
        and at + 1 - line < _LONGEST
        and "MPI startup" not in lines[at + 1]
    ):
        at += 1
        where += lines[at].strip()
    if not (where.endswith("}") if braces else _LIST.fullmatch(where)):
        right = "they should be like {0,1,2}, {0-3}, or the same without braces"
        raise wrong(line, f"the processors of rank {rank} are {shown(where)}; {right}.")
    units = numbers(where[1:-1] if braces else where, line, "the processors")
    return RankSeat(rank, host, line, units=units, pid=pid), at + 1


def ranks(text: str) -> MappingReport | None:
    """Which ranks are on which host, and no more than that; None where the text doesn't say. Raises BadInput."""
    report = MappingReport("intel-ranks")
    for line, words in enumerate(text.split("\n"), 1):
        if found := _RANKS.match(words.strip()[:100_000]):
            for rank in numbers(found[2], line, f"the ranks of {found[1]}"):
                report.seats.add(RankSeat(rank, found[1], line, bound=None))
    return report if report.seats else None
