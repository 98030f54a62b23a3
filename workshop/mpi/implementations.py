"""The MPI implementations that the workshop knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement


@dataclass(frozen=True)
class Implementation:
    """An MPI implementation.

    Its module has what `workshop.mpi.module_of` describes. `command` is the program that starts ranks in commands to
    copy. `mapper` says whether the MPI can be asked where ranks would run. `waiting` says what ranks do while they wait
    for a message: they poll, they do what Open MPI's variable for that says, or (empty) it is not known. `aliases` are
    other names for it. `shared_memory` says whether ranks don't start without /dev/shm.
    """

    name: str
    title: str
    command: str = "mpirun"
    mapper: bool = True
    waiting: Literal["poll", "variable", ""] = ""
    aliases: Collection[str] = ()
    shared_memory: bool = False


_ALL = (
    Implementation("openmpi", "Open MPI", waiting="variable"),
    Implementation("mpich", "MPICH", "mpiexec", waiting="poll", shared_memory=True),
    Implementation("intelmpi", "Intel MPI", mapper=False, aliases=("impi",)),
    Implementation("system", "System MPI", mapper=False),
)
IMPLEMENTATIONS: Mapping[str, Implementation] = {entry.name: entry for entry in _ALL}


def implementation(name: str) -> Implementation:
    """The implementation of that name, or of one of its other names. Raises BadInput with the known names."""
    for entry in IMPLEMENTATIONS.values():
        if name == entry.name or name in entry.aliases:
            return entry
    raise BadInput(f"mpi is {name!r:.60}: it should be {words.listed(IMPLEMENTATIONS, 'or')}.")


def read_placement(values: Mapping[str, Any]) -> Placement:
    """Read a placement that somebody asks for, which has to name a known MPI. Raises BadInput with one sentence."""
    read = Placement.parse(values)
    return read.model_copy(update={"mpi": implementation(read.mpi).name})
