"""The sbatch script of a session: its resources, its template, and the placements that fit it.

A template is an sbatch script with placeholders in braces. A #SBATCH line whose placeholder has no value is left out,
so that Slurm's own default holds. The user's values are checked, and can't add a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop import mpi
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.sessions.launchers.site import RANKS_PER_CORE

DEFAULT = Path(__file__).with_name("template.sh")
LARGEST = 100_000  # characters of a template
MOST_MINUTES = 366 * 24 * 60
WAIT = 60.0  # minutes in the queue after which a session gives up, where nothing else was said
CHOOSES = (
    "Slurm chooses the hosts of its sessions; leave them out: map_by node deals ranks out over them, and a session on "
    "hosts of your own is one without --slurm."
)

# What can stand in braces, and what it is. `hold` and `ranks` have to be there.
PLACEHOLDERS = {
    "hold": "the command that holds the allocation until the session ends, on a line without #",
    "ranks": "number of ranks of the session's placement",
    "cores_per_rank": "cores that each of them owns",
    "nodes": "number of nodes, where --nodes or the placement (ranks per node) says it",
    "ranks_per_node": "ranks on each node, at most; known where the number of nodes is",
    "partition": "--partition",
    "account": "--account",
    "time": "--time, in minutes",
}
NEEDED = ("hold", "ranks")
_PLACEHOLDER = re.compile(r"(?<![$\\])\{([A-Za-z_]+)\}")  # ${variable} is the shell's
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:@+-]{0,127}")


def options(
    placement: Placement,
    *,
    partition: str | None = None,
    account: str | None = None,
    time: str | None = None,
    nodes: str | None = None,
    wait: str | None = None,
    template: str | None = None,
    address: str | None = None,
) -> dict[str, Any]:
    """The site of a session on Slurm, from the user's options; `time` and `wait` are in minutes, `address` is this
    machine's for the nodes. The template is read here, with the caller's rights. Raises BadInput."""
    if placement.hosts:
        raise BadInput(CHOOSES)
    text = DEFAULT.read_text() if template is None else _read(Path(template))
    site: dict[str, Any] = {
        "kind": "slurm",
        "partition": _word("--partition", partition),
        "account": _word("--account", account),
        "time": _number("--time", time, MOST_MINUTES, "minutes"),
        "nodes": _number("--nodes", nodes, placement.ranks, "nodes, at most one for each rank"),
        "wait": 60.0 * (_number("--wait", wait, MOST_MINUTES, "minutes") or WAIT),
        "cores": placement.ranks * placement.cores_per_rank,
        "template": text,
        "address": address,
    }
    used = placeholders(text)
    for name in ("partition", "account", "time", "nodes"):
        if site[name] is not None and name not in used:
            raise BadInput(f"The template {template} has no {{{name}}}, so --{name} would mean nothing; add one.")
    return site


def placeholders(template: str) -> set[str]:
    """The placeholders of a template. Raises BadInput, with the line, for unknown and missing ones."""
    if not template.startswith("#!"):
        raise BadInput("Line 1 of the template should name the shell, as in #!/bin/bash; sbatch wants that.")
    names = set()
    for number, line in enumerate(template.splitlines(), 1):
        for name in _PLACEHOLDER.findall(line):
            if name not in PLACEHOLDERS:
                raise BadInput(
                    f"Line {number} of the template has {{{name}}}, which is not one of {', '.join(PLACEHOLDERS)}; "
                    "braces of the shell's own need a space behind them."
                )
            if not line.lstrip().startswith("#") or (line.startswith("#SBATCH") and name != "hold"):
                names.add(name)
    for name in NEEDED:
        if name not in names:
            raise BadInput(f"The template has no {{{name}}}: {PLACEHOLDERS[name]}.")
    return names


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The script: a template with its values. Raises BadInput where a command needs a value that nobody gave."""
    lines = []
    for number, line in enumerate(template.splitlines(), 1):
        names = _PLACEHOLDER.findall(line)
        lacking = [name for name in names if values.get(name) is None]
        if lacking and not line.startswith("#SBATCH"):
            raise BadInput(f"Line {number} of the template has {{{lacking[0]}}}, for which there is no value.")
        if not lacking:
            lines.append(_PLACEHOLDER.sub(lambda match: str(values[match[1]]), line))
    return "\n".join(lines) + "\n"


def shape(placement: Placement, nodes: int | None) -> dict[str, int | None]:
    """The resources that a placement needs from Slurm: `ranks`, `cores_per_rank`, and, where they are known, `nodes`
    and `ranks_per_node`."""
    each = placement.per_resource if placement.map_by == "node" else None
    if nodes is None and each is not None:
        nodes = -(-placement.ranks // each)
    if nodes is not None and each is None:
        each = -(-placement.ranks // nodes)
    return {
        "ranks": placement.ranks,
        "cores_per_rank": placement.cores_per_rank,
        "nodes": nodes,
        "ranks_per_node": each,
    }


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            raise BadInput(f"{path} is not a file; give an sbatch template.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The template {path} can't be read: {error}.") from error
    if len(text) > LARGEST or "\0" in text:
        raise BadInput(f"{path} is not an sbatch template: it should be text of at most {LARGEST} characters.")
    return text


def _word(option: str, value: str | None) -> str | None:
    if value is not None and not _WORD.fullmatch(value):
        raise BadInput(f"{option} is {value!r}: it should be a name of letters, digits and any of _ . , : @ + -")
    return value


def _number(option: str, value: str | None, most: int, unit: str) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or not 1 <= int(value) <= most:
        raise BadInput(f"{option} is {value!r}: it should be a whole number from 1 to {most} ({unit}).")
    return int(value)


def check_placement(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse a placement that is too large for the session's allocation, whatever its nodes are like. Raises
    BadInput."""
    mpi.module_of(placement.mpi).launcher()
    if placement.hosts:
        raise BadInput(CHOOSES)
    cores = int(options["cores"])
    if placement.ranks > RANKS_PER_CORE * cores:
        raise BadInput(
            f"ranks is {placement.ranks}: the session has asked Slurm for {cores} cores, which take at most "
            f"{RANKS_PER_CORE * cores}, {RANKS_PER_CORE} per core; start one with more ranks."
        )
    arguments(options, placement, None)


def arguments(options: Mapping[str, Any], placement: Placement, machine: Mapping[str, Any] | None) -> list[str]:
    """The launcher's options for a placement. `machine` is a node's machine; None: one with enough of everything, so
    that only impossible placements are refused. Raises BadInput."""
    chosen, cores = mpi.module_of(placement.mpi), int(options["cores"])
    return list(chosen.arguments(placement, cores, machine or _endless(placement.ranks)))


def _endless(count: int) -> dict[str, Any]:
    """A machine with so many units of every kind."""
    return {"units": [dict.fromkeys(("unit", "core", "package", "numa", "l3"), number) for number in range(count)]}
