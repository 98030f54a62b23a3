"""The MPIs' defaults for commands without a binding. They often differ from `auto` of a placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.machines import KEYS, MachineDescription
from workshop.mpi.reader.parsed_options import ParsedOptions

# Open MPI 5 binds ranks to what it deals them out over, if that is part of a host.
_PARTS = ("hwthread", "core", "l3cache", "numa", "package")
FEW_RANKS = 2  # ranks that Open MPI binds to cores where they are dealt out over slots or hosts; more get a NUMA node


def map_openmpi(options: ParsedOptions, values: dict[str, Any]) -> None:
    """Say in the values of a placement over what Open MPI 5 deals ranks out where a command doesn't say it, if that
    isn't what `auto` means. Raises BadInput for words that Open MPI doesn't take together."""
    # With several cores, the placement's own command says most of these, and Open MPI refuses them in its own words.
    too_large = ("none",) if (options.cores_per_rank or 1) > 1 else ("none", "l3cache", "numa", "package")
    if options.cores_per_rank and options.bind_to in too_large:
        raise BadInput(
            f"pe={options.cores_per_rank} binds each rank to cores of its own, but --bind-to {options.bind_to} "
            "doesn't; the command should have one of them."
        )
    if "map" in options.settled or options.map_by or options.per_host:
        return
    if options.oversubscribe and (options.hosts or options.overload):
        # The cores of the first host are filled before its slots are told apart from those of the next.
        bound = options.bind_to or "core"
        values["map_by"] = bound if bound in _PARTS and (options.cores_per_rank or 1) == 1 else "slot"


def ranks_of_openmpi(options: ParsedOptions, hosts: Sequence[Mapping[str, Any]], described: MachineDescription) -> int:
    """How many ranks Open MPI 5 starts where a command doesn't say it: so many on every resource, else as many as there
    are slots, or cores for. Raises BadInput where that is none."""
    by, each = ("node", options.per_host) if options.per_host else (options.map_by, options.per_resource)
    nodes = len(hosts) or 1
    if each:
        return nodes * each * (1 if by == "node" else described.count(str(by)))
    places = described.count("unit") if options.hardware_threads else described.cores
    slots = sum(host["slots"] for host in hosts) or described.cores
    cores_per_rank = options.cores_per_rank or 1
    return slots if cores_per_rank == 1 else max(min(nodes * (places // cores_per_rank), slots), 1)


def settle(
    options: ParsedOptions, values: dict[str, Any], environment: dict[str, str], described: MachineDescription
) -> None:
    """Add the MPI's defaults to the placement's values and environment. Raises BadInput for a command that the MPI
    would refuse in this form."""
    if options.launcher == "srun":
        return  # how Slurm binds is a matter of its configuration
    bound = options.bind_to or (None if "bind" in options.settled else _bound(options, values, environment))
    cores = described.cores if not values["hosts"] else 1 << 30
    if values["mpi"] != "openmpi":
        values["bind_to"] = bound or "auto"
        return
    dealt = values["per_resource"] is None
    several = described.count("unit") > described.count("core")
    on_each = bound == "hwthread" == options.map_by and not dealt
    alone = options.bind_to == "hwthread" != options.map_by and (options.cores_per_rank or 1) == 1
    if (alone or on_each) and several and not options.hardware_threads:
        what = f"--map-by ppr:{options.per_resource}:hwthread" if on_each else "--bind-to hwthread"
        raise BadInput(
            f"{what} needs hardware threads that are counted as places for ranks; it should have :HWTCPUS behind "
            "--map-by."
        )
    if values["ranks"] > cores and dealt and not options.oversubscribe and options.tool == "openmpi":
        raise BadInput(
            f"ranks is {values['ranks']}, but the machine has {cores} cores, which are its slots; it should have "
            "--oversubscribe."
        )
    if options.tool == "openmpi" and not dealt and values["map_by"] != "node" and _beyond(options, values):
        each, by = values["per_resource"], values["map_by"]
        raise BadInput(
            f"ranks is {values['ranks']}, but ppr:{each}:{by} puts {each} ranks on every {by} that gets any; the "
            f"number of ranks should be a multiple of {each}."
        )
    if options.tool == "openmpi" and not dealt and values["map_by"] in ("package", "numa", "l3cache", "core"):
        each, by = values["per_resource"], values["map_by"]
        own_cores = described.count("core") // described.count(by)
        shares = options.bind_to == "none" or options.overload or options.oversubscribe or options.hardware_threads
        if each > own_cores and not shares:  # also where the host's slots end before
            raise BadInput(
                f"ppr:{each}:{by} puts {each} ranks on every {by}, which has {words.count(own_cores, 'core')}; the "
                f"number should be at most {own_cores}."
            )
    if options.tool == "openmpi":
        _share(options, values, bound, described)
    scarce = values["ranks"] * values["cores_per_rank"] > cores
    unbound = scarce and dealt and values["cores_per_rank"] == 1
    auto = "none" if unbound else "hwthread" if values["map_by"] == "hwthread" else "core"
    values["bind_to"] = options.bind_to or ("auto" if bound in (None, auto) else bound)


def _beyond(options: ParsedOptions, values: dict[str, Any]) -> bool:
    """Whether Open MPI would put more ranks than there are on the first resource that it fills, as it does unless a
    host's slots end before. The command of a placement asks for no more on each than there are."""
    each: int = values["per_resource"]
    remaining: int = values["ranks"]
    if each <= remaining:
        return False
    for host in values["hosts"] or [{"slots": each}]:
        remaining -= each if options.oversubscribe else min(each, host["slots"])
        if remaining <= 0:
            break
    return remaining < 0


def _share(options: ParsedOptions, values: dict[str, Any], bound: str | None, described: MachineDescription) -> None:
    """Whether ranks share: Open MPI tells sharing slots (`:OVERSUBSCRIBE`) from sharing cores (`:overload-allowed`),
    a placement doesn't. Where the other one could change the map, the word that it can't keep is named."""
    values["oversubscribe"] = options.oversubscribe
    if bound in (None, "none") or options.overload == options.oversubscribe:
        return
    if options.overload:
        options.unknown.append(":overload-allowed without :OVERSUBSCRIBE")
        return
    each = values["per_resource"]
    if each is None and not values["hosts"]:
        values["oversubscribe"] = False  # which the command of a placement allows where cores are scarce
    elif each is None or not _fit(each * values["cores_per_rank"], values["map_by"], described):
        options.unknown.append(":OVERSUBSCRIBE without :overload-allowed")
        values["oversubscribe"] = values["ranks"] > sum(host["slots"] for host in values["hosts"])


def _fit(cores: int, resource: str, described: MachineDescription) -> bool:
    """Whether each such resource of the machine has so many cores."""
    if resource == "node":
        return cores <= described.cores
    per: dict[int, set[int]] = {}
    for row in described.units:
        per.setdefault(row[KEYS.get(resource, resource)], set()).add(row["core"])
    return all(cores <= len(cores_of_resource) for cores_of_resource in per.values())


def _bound(options: ParsedOptions, values: dict[str, Any], environment: dict[str, str]) -> str | None:
    """The binding of ranks where the command has none; None where `auto` says it, or the MPI's default isn't known."""
    if values["mpi"] == "mpich":
        return None if any(name.startswith("MV2_") for name in environment) else "none"
    if values["mpi"] == "intelmpi":
        if not any(name.startswith("I_MPI_PIN") for name in environment):
            environment["I_MPI_PIN_DOMAIN"] = "auto"  # which is its default
        return None
    if options.tool == "horovodrun" and not options.settled and options.map_by is None:
        return "none"
    if options.oversubscribe and (options.cores_per_rank or 1) == 1:
        return "none"
    if options.cores_per_rank:
        return "hwthread" if options.hardware_threads else "core"
    if values["map_by"] in _PARTS:
        return str(values["map_by"])
    return "core" if values["map_by"] == "auto" or values["ranks"] <= FEW_RANKS else "numa"
