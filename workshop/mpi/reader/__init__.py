"""From a command line that somebody typed back to a placement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from workshop.core import machines
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi.reader.build import build
from workshop.mpi.reader.lines import read_lines
from workshop.mpi.reader.options import HANDLERS, read_options
from workshop.mpi.reader.parsed_options import RESOURCES

__all__ = ["ParsedCommand", "parse", "suggestion"]


@dataclass(frozen=True)
class ParsedCommand:
    """A placement, and the words of the command line that say nothing that a placement can keep."""

    placement: Placement
    unknown: tuple[str, ...]


def parse(
    command_line: str, base: Placement | None = None, described: MachineDescription | None = None
) -> ParsedCommand:
    """Read mpirun, mpiexec, mpirun_rsh, horovodrun or a batch script of Slurm.

    `base` is the previous placement, which gives the MPI and the number of ranks where the command doesn't. `described`
    is the machine (None: this one), which decides what `auto` means. Raises only BadInput.
    """
    options = read_options(read_lines(command_line))
    placement = build(options, base, described or machines.this())
    return ParsedCommand(placement, tuple(dict.fromkeys(options.unknown)))


def suggestion(unknown: str) -> str:
    """A hint for unknown words of a command line, like "; did you mean socket?", or an empty text."""
    options = [f"--{name}" for name in HANDLERS]
    for word in re.findall(r"[a-z0-9-]+", unknown.lower()):
        candidates = options if word.startswith("--") else [*RESOURCES]
        if word not in candidates and (near := get_close_matches(word, candidates, 1, 0.7)):
            return f"; did you mean {near[0]}?"
    return ""
