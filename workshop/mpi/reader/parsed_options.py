"""The options of a command line in the words of a placement, and the two options that have a grammar of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import positive

RESOURCES = {
    "slot": "slot",
    "hwthread": "hwthread",
    "hwt": "hwthread",
    "pu": "hwthread",
    "core": "core",
    "l3cache": "l3cache",
    "l3": "l3cache",
    "numa": "numa",
    "numanode": "numa",
    "socket": "package",
    "package": "package",
    "node": "node",
    "machine": "node",
}

_IN_TURN = ("slot", "hwthread", "core", "node")


@dataclass
class ParsedOptions:
    """The options of a command, in the words of a placement; None stands for a missing option."""

    launcher: str
    tool: str = ""  # openmpi, mpich, intelmpi, mpirun_rsh, horovodrun or sbatch
    ranks: int | None = None
    hosts: list[str] = field(default_factory=list)  # name, name:slots
    per_host: int | None = None
    per_node: int | None = None  # of Slurm
    nodes: int | None = None
    processors: int | None = None  # of Slurm, for each rank: hardware threads
    map_by: str | None = None
    per_resource: int | None = None
    cores_per_rank: int | None = None
    bind_to: str | None = None
    oversubscribe: bool = False  # of slots
    overload: bool = False  # of cores
    settled: set[str] = field(default_factory=set)  # "map", "bind": also in words that aren't understood
    hardware_threads: bool = False  # are counted where ranks are placed
    environment: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)  # variables before the command
    names: list[str] = field(default_factory=list)  # variables without values
    unknown: list[str] = field(default_factory=list)
    openmpi: int = 0  # words that only Open MPI has
    hydra: int = 0
    mpich: bool = False  # words that only MPICH's launcher has


def mapping_fields(mapping: str, words: str) -> dict[str, Any]:
    """The fields of a placement for a mapping in Open MPI's notation, `ppr:1:socket:pe=2`; a resource alone is `map_by`
    itself. `words` is what somebody wrote. Raises BadInput."""
    if ":" not in mapping:
        return {"map_by": RESOURCES.get(mapping, mapping)}
    parsed = ParsedOptions("mpirun")
    read_mapping(parsed, mapping, words)
    if parsed.unknown or parsed.map_by is None or (parsed.hardware_threads and parsed.map_by != "hwthread"):
        raise BadInput(f"{words} is not a mapping; it should be like package or ppr:1:package:pe=2.")
    read = {"map_by": parsed.map_by, "per_resource": parsed.per_resource, "cores_per_rank": parsed.cores_per_rank}
    read["oversubscribe"] = parsed.oversubscribe or parsed.overload or None
    return {name: value for name, value in read.items() if value is not None}


def read_mapping(options: ParsedOptions, mapping: str, words: str) -> None:
    """Open MPI's or Hydra's word for mapping: `core`, `ppr:1:socket:pe=2`, `:OVERSUBSCRIBE`. Raises BadInput."""
    first, *modifiers = mapping.split(":")
    if first:
        options.settled.add("map")
    if first.lower() == "ppr":
        count, resource, *modifiers = [*modifiers, "", ""]
        if not positive(count):
            raise BadInput(f"{words}: the number of ranks on each resource should be from 1 to 1024.")
        if resource.lower() not in RESOURCES or resource.lower() == "slot":
            raise BadInput(f"{words}: ppr should name a resource, like ppr:{count}:package.")
        options.map_by, options.per_resource = RESOURCES[resource.lower()], int(count)
    elif first.lower() in RESOURCES:
        options.map_by, options.per_resource = RESOURCES[first.lower()], None
    elif first:
        options.unknown.append(words)
        return
    for modifier in filter(None, modifiers):
        name, _, value = modifier.partition("=")
        if name.lower() == "pe":
            options.cores_per_rank = positive(value)
            if not options.cores_per_rank:
                raise BadInput(f"{words}: pe should be a number of cores from 1 to 1024.")
        elif modifier.lower() == "oversubscribe":
            options.oversubscribe = True
        elif modifier.lower() == "hwtcpus":
            options.hardware_threads = True
        elif modifier.lower() == "span" and options.map_by in _IN_TURN and options.per_resource is None:
            continue  # these are dealt out over all hosts as they are, with it and without
        elif modifier.lower() != "corecpus":
            options.unknown.append(f":{modifier} of {words}")


def read_binding(options: ParsedOptions, binding: str, words: str) -> None:
    """Open MPI's or Hydra's word for binding: `core`, `core:overload-allowed`, `core:2`."""
    options.settled.add("bind")
    first, *modifiers = binding.split(":")
    options.mpich = options.mpich or first.lower() == "user"  # user:0-15,16-31
    if first.lower() not in {**RESOURCES, "none": ""} or first.lower() in ("slot", "node", "machine"):
        options.unknown.append(words)
        return
    options.bind_to = RESOURCES.get(first.lower(), "none")
    for modifier in modifiers:
        if options.bind_to == "core" and positive(modifier):  # Hydra's core:2
            options.cores_per_rank = positive(modifier)
        elif modifier.lower() == "overload-allowed":
            options.overload = True
        elif modifier.lower() not in ("1", "if-supported", "no-overload"):
            options.unknown.append(f":{modifier} of {words}")
