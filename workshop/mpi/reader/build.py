"""From what the options of a command say to a placement."""

from __future__ import annotations

import re
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import THREAD_VARIABLES, Placement, hosts_from, positive
from workshop.mpi import mpirun_rsh, rules
from workshop.mpi.reader import defaults
from workshop.mpi.reader.parsed_options import ParsedOptions

# Variables that belong to starting ranks, and that sessions set by themselves.
_OURS = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
_BINDINGS = {
    "core": "core",
    "socket": "package",
    "sock": "package",
    "numa": "numa",
    "cache3": "l3cache",
    "cache": "l3cache",
    "node": "none",
    "1": "hwthread",
}
_OFF = ("0", "no", "off", "disable")
_RANGE = re.compile(r"([A-Za-z0-9.-]*)\[([0-9,-]{1,200})\]")


def build(options: ParsedOptions, base: Placement | None, described: MachineDescription) -> Placement:
    """The placement that a command asks for; sets the command's tool. Raises BadInput."""
    environment = _environment(options)
    if options.launcher == mpirun_rsh.LAUNCHER:
        return _mpirun_rsh(options, base, environment)
    mpi = _mpi(options, base, environment)
    options.tool = options.tool or ("horovodrun" if options.launcher == "horovodrun" else mpi)
    values: dict[str, Any] = {
        "mpi": mpi,
        "map_by": options.map_by or "auto",
        "per_resource": options.per_resource,
        "cores_per_rank": options.cores_per_rank or 1,
        "bind_to": options.bind_to or "auto",
        # More ranks than slots, but none on another's core: what `auto` writes where cores are scarce.
        "oversubscribe": options.oversubscribe and (options.overload or options.bind_to in (None, "none")),
    }
    if options.tool == "openmpi":
        defaults.map_openmpi(options, values)
    _places(options, base, mpi, values, described)
    if options.hardware_threads and "hwthread" not in (options.bind_to, options.map_by):
        options.unknown.append("hardware threads as places for ranks, without --bind-to hwthread")
    defaults.settle(options, values, environment, described)
    if mpi == "intelmpi":
        environment = _pinned(environment, values, described)
    _processors(options, values, described)
    values["threads"], values["environment"] = _threads(environment, values["cores_per_rank"])
    return Placement.parse(values)


def _processors(options: ParsedOptions, values: dict[str, Any], described: MachineDescription) -> None:
    """What Slurm's processors of each rank are in cores; mpirun in a script says by itself what its ranks own."""
    srun, bound = options.launcher == "srun", values["bind_to"]
    if options.processors and (bound == "none" or (srun and bound in ("auto", "core"))):
        values["cores_per_rank"] = max(options.processors // _threads_of_a_core(described), 1)


def _mpirun_rsh(options: ParsedOptions, base: Placement | None, environment: dict[str, str]) -> Placement:
    """The placement of a command of MVAPICH2, which is derived from MPICH. Raises BadInput."""
    options.tool = mpirun_rsh.LAUNCHER
    values, unknown = mpirun_rsh.settings(options.hosts, environment)
    options.unknown += unknown
    values["mpi"] = base.mpi if base is not None else "mpich"
    values["ranks"] = options.ranks or len(options.hosts) or (base.ranks if base is not None else Placement().ranks)
    values["threads"], values["environment"] = _threads(environment, values["cores_per_rank"])
    return Placement.parse(values)


def _environment(options: ParsedOptions) -> dict[str, str]:
    values = {name: value for name, value in options.before.items() if name not in _OURS}
    for name in options.names:
        if name not in values and name not in _OURS:
            options.unknown.append(f"{name}, whose value is not told")
    return values | options.environment


def _mpi(options: ParsedOptions, base: Placement | None, environment: dict[str, str]) -> str:
    """The MPI of a command; each has words that the others don't know."""
    before = base.mpi if base is not None else None
    if options.launcher in ("horovodrun", "orterun", "prterun") or (options.openmpi and not options.hydra):
        return "openmpi"
    if any(name.startswith("I_MPI_") for name in environment):
        return "intelmpi"
    if options.mpich or any(name.startswith("MV2_") for name in environment):  # MVAPICH2 is derived from MPICH
        return "mpich"
    hydra = before if before in ("mpich", "intelmpi") else None
    if options.launcher.startswith(("mpiexec.", "hydra", "mpirun.")):
        return hydra or "mpich"
    if options.hydra:
        return hydra or ("intelmpi" if options.launcher == "mpirun" else "mpich")
    return before or "openmpi"


def _places(
    options: ParsedOptions,
    base: Placement | None,
    mpi: str,
    values: dict[str, Any],
    described: MachineDescription,
) -> None:
    """Ranks, hosts and their slots."""
    names = [name for host_words in _joined_names(options.hosts) for name in _expanded(host_words)]
    slurm = options.tool == "sbatch" or options.launcher == "srun"
    with_slots = any(":" in name for name in names)
    if slurm and not names and (options.nodes or 1) > 1:  # whose names only Slurm knows
        names = [f"node{number}" for number in range(1, (options.nodes or 1) + 1)]
    hosts = [host.model_dump() for host in hosts_from(",".join(names))] if names else []
    ranks = options.ranks or _ranks(options, base, hosts, described)
    values["ranks"] = ranks
    nodes = len(hosts) or 1
    if slurm and options.per_node and ranks > nodes * options.per_node:
        raise BadInput(
            f"ranks is {ranks}, but --ntasks-per-node={options.per_node} puts {nodes * options.per_node} on "
            f"{words.count(nodes, 'node')}; it should be --ntasks-per-node={-(-ranks // nodes)}, or more nodes."
        )
    each = options.per_host
    share = options.per_node or (None if mpi == "openmpi" else each) or (-(-ranks // len(hosts)) if hosts else 1)
    if hosts and not with_slots and (slurm or (each is not None and mpi != "openmpi")):
        hosts = [host | {"slots": min(share, 1024)} for host in hosts]
        each = None if (each == share and mpi == "intelmpi") or not slurm else each
    if each is not None:
        values["map_by"] = "node"
        values["per_resource"] = None if each == 1 and mpi != "openmpi" else each
    slots = sum(host["slots"] for host in hosts)
    if hosts and ranks > slots and not values["oversubscribe"]:
        if mpi == "openmpi" and not slurm and not options.oversubscribe:
            enough = -(-ranks // len(hosts))
            better = ",".join(f"{host['name']}:{max(enough, host['slots'])}" for host in hosts)
            raise BadInput(
                f"ranks is {ranks}, but the hosts have {slots} slots together, one each where no number is given; "
                f"it should be like -H {better}, or have --oversubscribe."
            )
        values["oversubscribe"] = True  # Hydra begins again at the first host by itself
    values["hosts"] = hosts
    if mpi != "openmpi" and values["map_by"] == "node" and hosts and not values["oversubscribe"]:
        # Neither does it heed slots where it deals ranks out over hosts.
        dealt = rules.dealt_out(Placement.parse(values))
        values["oversubscribe"] = any(
            len(host_ranks) > host["slots"] for host_ranks, host in zip(dealt, hosts, strict=True)
        )


def _ranks(
    options: ParsedOptions, base: Placement | None, hosts: list[dict[str, Any]], described: MachineDescription
) -> int:
    """How many ranks there are where the command doesn't say: as many as Slurm or Open MPI starts, else as before, else
    what the hosts have slots for. Raises BadInput."""
    slurm = options.tool == "sbatch" or options.launcher == "srun"
    if slurm and (base is None or options.nodes or options.per_node):
        return (len(hosts) or 1) * (options.per_node or 1)  # one task on each node, unless told
    if options.tool == "openmpi" and not slurm:
        return defaults.ranks_of_openmpi(options, hosts, described)
    if base is not None:
        return base.ranks
    if not hosts:
        return Placement().ranks
    if options.map_by == "node" and options.per_resource:
        return len(hosts) * options.per_resource
    return len(hosts) * options.per_host if options.per_host else sum(host["slots"] for host in hosts)


def _joined_names(parts: list[str]) -> list[str]:
    """Names that a comma inside brackets has cut: node[1,3]."""
    names: list[str] = []
    for part in parts:
        if names and names[-1].count("[") > names[-1].count("]"):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _expanded(name: str) -> list[str]:
    """Slurm's short way to write hosts: node[01-03,7]. Raises BadInput."""
    match = _RANGE.fullmatch(name)
    if not match:
        return [name]
    hosts: list[str] = []
    for part in match[2].split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or len(part) > 20:
            raise BadInput(f"{name!r} is no list of hosts; it should be like node[01-03].")
        numbers = range(int(first), int(last or first) + 1)
        hosts += [f"{match[1]}{number:0{len(first)}d}" for number in numbers]
    return hosts


def _pinned(environment: dict[str, str], values: dict[str, Any], described: MachineDescription) -> dict[str, str]:
    """Read Intel MPI's pinning. Its variables stay variables where the placement has no field for them."""
    pins = {name: value for name, value in environment.items() if name.startswith("I_MPI_PIN")}
    if not pins:
        return environment
    domain, _, layout = pins.get("I_MPI_PIN_DOMAIN", "").lower().partition(":")
    order = layout or pins.get("I_MPI_PIN_ORDER", "").lower()
    if pins.get("I_MPI_PIN", "1").lower() in _OFF:
        values["bind_to"] = "none"
    elif domain in _BINDINGS:
        values["bind_to"] = _BINDINGS[domain]
    elif cores := (positive(domain) or 0) // _threads_of_a_core(described):
        values["bind_to"], values["cores_per_rank"] = "core", cores
    if values["bind_to"] == "core" and order == "scatter" and values["map_by"] == "auto":
        values["map_by"] = "package"
    try:
        pins_of_placement = rules.pins(Placement.parse(values), described)
    except BadInput:
        return environment
    return (
        {name: value for name, value in environment.items() if name not in pins}
        if pins_of_placement == pins
        else environment
    )


def _threads_of_a_core(described: MachineDescription) -> int:
    """Hardware threads, as Slurm and Intel MPI count."""
    return described.count("unit") // described.count("core")


def _threads(environment: dict[str, str], cores: int) -> tuple[int | None, dict[str, str]]:
    """Threads of each rank, if all libraries are told the same, and the variables that tell more."""
    threads = environment.get("OMP_NUM_THREADS", "")
    count = positive(threads)
    if str(count) != threads:
        return None, environment
    rest = {n: value for n, value in environment.items() if n not in THREAD_VARIABLES or value != threads}
    return (None if count == cores else count), rest
