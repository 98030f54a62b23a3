"""The bindings that MPICH's launcher prints with HYDRA_TOPO_DEBUG=1: a digit for each processing unit, 1 where the
process may run."""

from __future__ import annotations

import re

from workshop.mpi.reports.bindings import HOST, MappingReport, RankBinding, excerpt, row, wrong

_LINE = re.compile(r"process ([0-9]{1,9}) binding:(.*)$")
# Which rank a line is of, if MPICH was told to say so: `-l` writes [0], `-prepend-pattern "[%r@%h] "` writes [0@node1].
_WHO = re.compile(rf"\[([0-9]{{1,9}})(?:@({HOST}))?\]\s?$")
HERE = "localhost"
RIGHT = 'on several hosts let MPICH say which rank a line is of: mpiexec -prepend-pattern "[%r@%h] "'


def read(text: str) -> MappingReport | None:
    """The bindings in a text; None where there are none. Raises BadInput."""
    report = MappingReport("mpich", precision="units")
    plain: dict[int, int] = {}  # processes that came without their rank, and their lines
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
        if not who:
            if rank in plain:
                raise wrong(line, f"process {rank} is there a second time, after line {plain[rank]}; {RIGHT}.")
            plain[rank] = line
        host_rows = report.rows.setdefault(host, [])
        host_rows += [row(unit, unit, 0) for unit in range(len(host_rows), len(digits))]
        report.bindings.append(RankBinding(rank, host, line, bound=len(units) < len(digits), units=units))
    return report if report.bindings else None
