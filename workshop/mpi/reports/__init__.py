"""Reads MPIs' reports of ranks and processors from pasted text with other output around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any

from workshop.core.errors import BadInput
from workshop.mpi.reports import intel, openmpi_bindings
from workshop.mpi.reports.bindings import Kind, MappingReport, wrong
from workshop.mpi.reports.rank_map import place_ranks

LARGEST_REPORT = 1_000_000  # characters; reports of a thousand ranks have half as many
NAMES: dict[Kind, str] = {
    "openmpi5": "Open MPI 5's bindings",
    "openmpi4": "Bindings of Open MPI 2 to 4",
    "openmpi": "Bindings of Open MPI 2 to 4, or of PRRTE",
    "intel-pinning": "Intel MPI's table of pinned processors",
    "intel-ranks": "Intel MPI's map of ranks",
    "mpich": "MPICH's bindings",
}
# What begins to tell of a rank, and a report's line that goes on in the next one.
_ABOUT = re.compile(r"\b(?:rank|process)[ :]{1,20}[0-9]{1,9}\b|<rank\b", re.I)
_CUT = re.compile(r"(?:rank {1,20}[0-9]{1,9} {1,20}(?:bound|is)\b|rank: [0-9]|MPI startup|binding:)", re.I)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal
_BREAK = re.compile(r"<br ?/?>", re.I)  # of a web page, in which other characters are escaped, too
# Reports that can't be read here, and the names of what prints them.
_OTHERS = (
    (re.compile(r"<map\b"), "Open MPI with --display map:parsable"),
    (re.compile(r"^cpu-bind=", re.M), "Slurm's srun --cpu-bind=verbose"),
    (re.compile(r"\bBOUND PROC \["), "PRRTE with its messages on mapping"),
    (re.compile(r"\bProcess rank: [0-9]+ Bound: "), "Open MPI 4 with --display-map"),
    (re.compile(r"^Hello from (rank|level|host).{1,300}affinity", re.M), "xthi"),
)
# In this order: of several reports in one text the one that tells most counts.
_READERS: tuple[Callable[[str], MappingReport | None], ...] = (
    openmpi_bindings.read,
    intel.pinning,
    intel.read,
    intel.ranks,
)


@dataclass(frozen=True)
class Read:
    """A report as a rank map, and its machine (None where the report tells nothing of the machine)."""

    kind: Kind
    rank_map: dict[str, Any]
    machine: dict[str, Any] | None

    @property
    def name(self) -> str:
        return NAMES[self.kind]


def read(text: str, machine: Mapping[str, Any] | None = None) -> Read:
    """Read what mpirun or mpiexec printed of its ranks: Open MPI's `--report-bindings` (versions 5 and
    4) and `--display map` (5), Intel MPI's `I_MPI_DEBUG=5` and `-print-rank-map`, MPICH's
    `HYDRA_TOPO_DEBUG=1`.

    With the machine (see `core.topology`; described once, it stands for all hosts) cores become processing units.
    Without it, units are numbered as the report numbers what it speaks of, and the machine that is returned has as
    much as it tells. Raises BadInput, which names the line, for what can't be read or is of another machine.
    """
    if len(text) > LARGEST_REPORT:
        raise BadInput(f"The report has {len(text)} characters; it should have at most {LARGEST_REPORT}.")
    text = _COLOUR.sub("", text)
    if _BREAK.search(text):
        text = unescape(_BREAK.sub("", text))
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.rstrip().endswith("\\") and _CUT.search(line):
            raise wrong(number, "it ends with a backslash, but goes on in the next line; give both as one line.")
    for reader in _READERS:
        report = reader(text)
        if report is not None:
            return Read(report.kind, *place_ranks(report, machine))
    if "<topology" in text:
        raise BadInput("This is a machine, as lstopo describes it, and no report of ranks.")
    about = [number for number, line in enumerate(lines, 1) if _ABOUT.search(line)]
    some = f" ({len(about)} of them, the first is line {about[0]}, name a rank without its place)" if about else ""
    other = next((f" This is what {name} prints." for pattern, name in _OTHERS if pattern.search(text)), "")
    raise BadInput(
        f"None of the {len(lines)} lines tells where a rank is{some}.{other} Right would be what these print: Open MPI "
        "with --report-bindings or --display map, Intel MPI with I_MPI_DEBUG=5, MPICH with HYDRA_TOPO_DEBUG=1."
    )
