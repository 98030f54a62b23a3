"""What MPIs do where a command doesn't say to what ranks are bound: often not what `auto` of a placement means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.mpi.words.parsed_options import ParsedOptions

# Open MPI 5 binds ranks to what it deals them out over, if that is part of a host.
_PARTS = ("hwthread", "core", "l3cache", "numa", "package")
FEW = 2  # ranks that Open MPI binds to cores where they are dealt out over slots or hosts; more get a NUMA node


_KEYS = {"hwthread": "unit", "l3cache": "l3"}  # of a machine's units, where they aren't called as the resource


def map_openmpi(found: ParsedOptions, values: dict[str, Any]) -> None:
    """Say in the values of a placement over what Open MPI 5 deals ranks out where a command doesn't say it, if that
    isn't what `auto` means. Raises BadInput for words that Open MPI doesn't take together."""
    if found.oversubscribe and found.exclusive:
        raise BadInput("The command allows more ranks than slots and forbids it; it should have one of the two.")
    # With several cores, the placement's own command says most of these, and Open MPI refuses them in its own words.
    apart = ("none",) if (found.cores_per_rank or 1) > 1 else ("none", "l3cache", "numa", "package")
    if found.cores_per_rank and found.bind_to in apart:
        raise BadInput(
            f"pe={found.cores_per_rank} binds each rank to cores of its own, but --bind-to {found.bind_to} doesn't; "
            "the command should have one of them."
        )
    if "map" in found.said or found.map_by or found.per_host:
        return
    if found.hardware_threads and found.bind_to is None and not found.cores_per_rank:
        values["map_by"] = "hwthread"
        values["bind_to"] = found.bind_to = None if found.oversubscribe else "hwthread"
    elif found.oversubscribe and (found.hosts or found.overload):
        # The cores of the first host are filled before its slots are told apart from those of the next.
        bound = found.bind_to or "core"
        values["map_by"] = bound if bound in _PARTS and (found.cores_per_rank or 1) == 1 else "slot"


def ranks_of_openmpi(found: ParsedOptions, hosts: Sequence[Mapping[str, Any]], described: MachineDescription) -> int:
    """How many ranks Open MPI 5 starts where a command doesn't say it: so many on every resource, else as many as there
    are slots, or cores for. Raises BadInput where that is none."""
    by, each = ("node", found.per_host) if found.per_host else (found.map_by, found.per_resource)
    nodes = len(hosts) or 1
    if each:
        return nodes * each * (1 if by == "node" else described.count(_KEYS.get(str(by), str(by))))
    threads = described.count("unit")
    places = threads if found.hardware_threads else described.cores
    slots = sum(host["slots"] for host in hosts) or (threads if found.thread_slots else described.cores)
    own = found.cores_per_rank or 1
    return slots if own == 1 else max(min(nodes * (places // own), slots), 1)


def settle(
    found: ParsedOptions, values: dict[str, Any], environment: dict[str, str], described: MachineDescription | None
) -> None:
    """Add the MPI's defaults to the placement's values and environment. Raises BadInput for a command that the MPI
    would refuse in this form."""
    if found.launcher == "srun":
        return  # how Slurm binds is a matter of its configuration
    bound = found.bind_to or (None if "bind" in found.said else _bound(found, values, environment))
    cores = described.cores if described is not None and not values["hosts"] else 1 << 30
    if values["mpi"] != "openmpi":
        values["bind_to"] = bound or "auto"
        return
    dealt = values["per_resource"] is None
    several = described is None or described.count("unit") > described.count("core")
    on_each = bound == "hwthread" == found.map_by and not dealt
    alone = found.bind_to == "hwthread" != found.map_by and (found.cores_per_rank or 1) == 1
    if (alone or on_each) and several and not found.hardware_threads:
        what = f"--map-by ppr:{found.per_resource}:hwthread" if on_each else "--bind-to hwthread"
        raise BadInput(
            f"{what} needs hardware threads that are counted as places for ranks; it should have --use-hwthread-cpus, "
            "or :HWTCPUS behind --map-by."
        )
    threads = bound == "hwthread" and not found.hardware_threads  # which the placement's own command counts as slots
    slots = described.count("unit") if described is not None and found.thread_slots else cores
    if values["ranks"] > max(slots, cores) and dealt and not found.oversubscribe and found.tool == "openmpi":
        raise BadInput(
            f"ranks is {values['ranks']}, but the machine has {cores} cores, which are its slots; it should have "
            f"--oversubscribe{' or --use-hwthread-cpus' if threads else ''}."
        )
    if found.tool == "openmpi" and not dealt and values["map_by"] != "node" and _beyond(found, values):
        each, by = values["per_resource"], values["map_by"]
        raise BadInput(
            f"ranks is {values['ranks']}, but ppr:{each}:{by} puts {each} ranks on every {by} that gets any; the "
            f"number of ranks should be a multiple of {each}."
        )
    if found.thread_slots and not dealt and not found.oversubscribe and values["ranks"] > cores:
        found.unknown.append("--use-hwthread-cpus, which makes hardware threads slots")
    if found.tool == "openmpi":
        _share(found, values, bound, described)
    scarce = values["ranks"] * values["cores_per_rank"] > cores
    auto = "none" if scarce and dealt else "hwthread" if values["map_by"] == "hwthread" else "core"
    values["bind_to"] = found.bind_to or ("auto" if bound in (None, auto) else bound)


def _beyond(found: ParsedOptions, values: dict[str, Any]) -> bool:
    """Whether Open MPI would put more ranks than there are on the first resource that it fills, as it does unless a
    host's slots end before. The command of a placement asks for no more on each than there are."""
    each: int = values["per_resource"]
    left: int = values["ranks"]
    if each <= left:
        return False
    for host in values["hosts"] or [{"slots": each}]:
        left -= each if found.oversubscribe else min(each, host["slots"])
        if left <= 0:
            break
    return left < 0


def _share(
    found: ParsedOptions, values: dict[str, Any], bound: str | None, described: MachineDescription | None
) -> None:
    """Whether ranks share: Open MPI tells sharing slots (`:OVERSUBSCRIBE`) from sharing cores (`:overload-allowed`),
    a placement doesn't. Where the other one would change the map, the word that it can't keep is named."""
    if bound in (None, "none") or found.overload == found.oversubscribe:
        values["oversubscribe"] = found.oversubscribe
        return
    hosts, each, own = values["hosts"], values["per_resource"], values["cores_per_rank"]
    slots = sum(host["slots"] for host in hosts) or (described.cores if described else 1 << 30)
    dealt = "slot" if bound == "core" and values["map_by"] == "auto" else values["map_by"]
    # Ranks fill the slots of each host before they share any.
    in_turn = len(hosts) < 2 or (each is None and dealt == "slot")
    if found.overload:
        most = max((host["slots"] for host in hosts), default=0) * own
        kept = in_turn or (described is not None and most <= described.cores)
        values["oversubscribe"] = in_turn
    elif (values["ranks"] <= slots and in_turn) or (each is None and not hosts):
        kept, values["oversubscribe"] = True, False  # which the command of a placement allows where cores are scarce
    else:
        kept, values["oversubscribe"] = each is not None and _fit(each * own, values["map_by"], described), True
    if not kept:
        found.unknown.append(
            ":overload-allowed without :OVERSUBSCRIBE" if found.overload else ":OVERSUBSCRIBE without :overload-allowed"
        )


def _fit(cores: int, resource: str, described: MachineDescription | None) -> bool:
    """Whether each such resource of the machine has so many cores; taken for granted where no machine is known."""
    if described is None:
        return True
    if resource == "node":
        return cores <= described.cores
    per: dict[int, set[int]] = {}
    for row in described.units:
        per.setdefault(row[_KEYS.get(resource, resource)], set()).add(row["core"])
    return all(cores <= len(there) for there in per.values())


def _bound(found: ParsedOptions, values: dict[str, Any], environment: dict[str, str]) -> str | None:
    """What ranks are bound to without a word on it; None: `auto` says it, or nothing does."""
    if values["mpi"] == "mpich":
        return "none"
    if values["mpi"] == "intelmpi":
        if not any(name.startswith("I_MPI_PIN") for name in environment):
            environment["I_MPI_PIN_DOMAIN"] = "auto"  # which is its default
        return None
    if found.tool == "horovodrun" and not found.said and found.map_by is None:
        return "none"
    if found.oversubscribe and (found.cores_per_rank or 1) == 1:
        return "none"
    if found.cores_per_rank:
        return "hwthread" if found.hardware_threads else "core"
    if values["map_by"] in _PARTS:
        return str(values["map_by"])
    return "core" if values["map_by"] == "auto" or values["ranks"] <= FEW else "numa"
