"""From a command line that somebody typed back to a placement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import command_lines
from workshop.mpi.words.build import build
from workshop.mpi.words.handlers import HANDLERS
from workshop.mpi.words.lines import read_lines
from workshop.mpi.words.options import read_options
from workshop.mpi.words.parsed_options import RESOURCES

__all__ = ["ParsedCommand", "parse", "suggestion"]

# Settings that several ways of writing a placement share: what a command line leaves open stays as it was.
_TOGETHER = (
    ("map_by", "per_resource", "bind_to", "cores_per_rank", "oversubscribe", "threads", "environment"),
    ("map_by", "per_resource", "bind_to", "cores_per_rank", "oversubscribe"),
    ("map_by", "per_resource", "bind_to", "cores_per_rank"),
    ("map_by", "per_resource", "bind_to", "oversubscribe"),
    ("map_by", "per_resource", "bind_to"),
    ("map_by", "bind_to"),
    ("map_by",),
    ("bind_to",),
    ("hosts", "oversubscribe"),
    ("hosts",),
    ("threads", "environment"),
    ("threads",),
    ("oversubscribe",),
)


@dataclass(frozen=True)
class ParsedCommand:
    """A placement, and the words of the command line that say nothing that a placement can keep."""

    placement: Placement
    unknown: tuple[str, ...]


def parse(
    command_line: str, base: Placement | None = None, described: MachineDescription | None = None
) -> ParsedCommand:
    """Read mpirun, mpiexec, mpirun_rsh, horovodrun or a batch script of Slurm.

    `base` is the previous placement. It decides between placements that are written alike, and gives the number of
    ranks where the command doesn't. `described` is the machine, which decides what `auto` means; without it both
    meanings count. Raises only BadInput.
    """
    line = read_lines(command_line)
    options = read_options(line)
    placement = build(options, base, described)
    if base is not None:
        placement = _as_before(placement, base, options.tool, described)
    return ParsedCommand(placement, tuple(dict.fromkeys(options.unknown)))


def suggestion(unknown: str) -> str:
    """A hint for unknown words of a command line, like "; did you mean socket?", or an empty text."""
    options = [f"--{name}" for name in HANDLERS]
    for word in re.findall(r"[a-z0-9-]+", unknown.lower()):
        candidates = options if word.startswith("--") else [*RESOURCES]
        if word not in candidates and (near := get_close_matches(word, candidates, 1, 0.7)):
            return f"; did you mean {near[0]}?"
    return ""


def _as_before(placement: Placement, base: Placement, tool: str, described: MachineDescription | None) -> Placement:
    """The base where it is written as this placement is; else as many of its settings as change nothing."""
    base = base.model_copy(update={"mpi": placement.mpi})
    for cores in [described.cores] if described else [1 << 20, 1]:
        same = _SameCommand(placement, tool, described, cores)
        if same.to(base):
            return base
        for names in _TOGETHER:
            mixed = _mixed(placement, base, names)
            if mixed is not None and same.to(mixed):
                placement = mixed
    return placement


def _mixed(placement: Placement, base: Placement, names: Sequence[str]) -> Placement | None:
    """The placement with these settings of the base; None where they don't go together."""
    base_settings = base.model_dump(include=set(names))
    try:
        return Placement.parse(placement.model_dump() | base_settings)
    except BadInput:
        return None


class _SameCommand:
    """Whether placements are written as one command line."""

    def __init__(self, placement: Placement, tool: str, described: MachineDescription | None, cores: int) -> None:
        self.placement, self.tool, self.described, self.cores = placement, tool, described, cores

    def to(self, other: Placement) -> bool:
        written = [command_lines.words(self.tool, each, self.cores, self.described) for each in (self.placement, other)]
        return written[0] is not None and written[0] == written[1]
