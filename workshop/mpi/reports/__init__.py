"""Reads MPIs' reports of ranks and processors from pasted text with other output around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core.errors import BadInput
from workshop.mpi.reports import intel, openmpi_bindings
from workshop.mpi.reports.rank_map import place_ranks

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal
# In this order: of several reports in one text the one that tells most counts.
_READERS = (openmpi_bindings.read, intel.pinning, intel.read, intel.ranks)


@dataclass(frozen=True)
class Read:
    """A report as a rank map, and its machine (None where the report tells nothing of the machine)."""

    name: str  # of what it is
    rank_map: dict[str, Any]
    machine: dict[str, Any] | None


def read(text: str, machine: Mapping[str, Any] | None = None) -> Read:
    """Read what mpirun or mpiexec printed of its ranks: Open MPI's `--report-bindings` (versions 5 and
    4) and `--display map` (5), Intel MPI's `I_MPI_DEBUG=5` and `-print-rank-map`, MPICH's
    `HYDRA_TOPO_DEBUG=1`.

    With the machine (see `core.topology`; described once, it stands for all hosts) cores become processing units.
    Without it, units are numbered as the report numbers what it speaks of, and the machine that is returned has as
    much as it tells. Raises BadInput, which names the line, for what can't be read or is of another machine.
    """
    text = _COLOUR.sub("", text)
    for reader in _READERS:
        report = reader(text)
        if report is not None:
            return Read(report.name, *place_ranks(report, machine))
    if "<topology" in text:
        raise BadInput("This is a machine, as lstopo describes it, and no report of ranks.")
    raise BadInput(
        f"None of the {len(text.splitlines())} lines tells where a rank is. Right would be what these print: Open MPI "
        "with --report-bindings or --display map, Intel MPI with I_MPI_DEBUG=5, MPICH with HYDRA_TOPO_DEBUG=1."
    )
