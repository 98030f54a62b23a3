"""Reads MPIs' reports of ranks and processors from pasted text with other output around them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core.errors import BadInput
from workshop.mpi.reports import hydra, intel, openmpi_bindings, openmpi_xml
from workshop.mpi.reports.seat_map import seated
from workshop.mpi.reports.seats import Kind, MappingReport

LARGEST = 1_000_000  # characters; reports of a thousand ranks have half as many
NAMES: dict[Kind, str] = {
    "openmpi-xml": "Open MPI's map",
    "openmpi5": "Open MPI 5's bindings",
    "openmpi4": "Open MPI 4's bindings",
    "intel-pinning": "Intel MPI's table of pinned processors",
    "intel-ranks": "Intel MPI's map of ranks",
    "mpich": "MPICH's bindings",
}
# In this order: of several reports in one text the one that tells most counts.
_READERS: tuple[Callable[[str], MappingReport | None], ...] = (
    openmpi_xml.read,
    openmpi_bindings.read,
    intel.pinning,
    hydra.read,
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
    """Read what mpirun or mpiexec printed of its ranks: Open MPI's `--display map:parsable`, `--display map` and
    `--report-bindings` (versions 5 and 4), Intel MPI's `I_MPI_DEBUG=5` and `-print-rank-map`, MPICH's
    `HYDRA_TOPO_DEBUG=1`.

    With the machine (see `core.topology`; described once, it stands for all hosts) cores become processing units.
    Without it, units are numbered as the report numbers what it speaks of, and the machine that is returned has as
    much as it tells. Raises BadInput, which names the line, for what can't be read or is of another machine.
    """
    if len(text) > LARGEST:
        raise BadInput(f"The report has {len(text)} characters; it should have at most {LARGEST}.")
    for reader in _READERS:
        report = reader(text)
        if report is not None:
            return Read(report.kind, *seated(report, machine))
    if "<topology" in text:
        raise BadInput("This is a machine, as lstopo describes it, and no report of ranks.")
    raise BadInput(
        f"None of the {text.count(chr(10)) + 1} lines tells where a rank is. Right would be what these print: Open MPI "
        "with --report-bindings or --display map:parsable, Intel MPI with I_MPI_DEBUG=5, MPICH with HYDRA_TOPO_DEBUG=1."
    )
