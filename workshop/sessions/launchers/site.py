"""Where the ranks of a session run: on this machine, on several hosts, in an allocation of Slurm.

A session's `site` is a mapping: `kind`, which is a name in `MODULES`, and that launcher's options. A client calls
`check`, which starts nothing; the conductor makes a `Site` of it, prepares it, launches ranks there, and closes it.

The module of a launcher has

- `site_for(placement, **options)`: the site, from the launcher's options, which are text or None. It raises BadInput;
- `check_placement(site, placement)`, which raises BadInput for a placement that can't run there;
- `Site`, a class with the methods of this file's.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workshop import mpi
from workshop.core import centre, environment, machines, processes, topology, words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement, default_for
from workshop.mpi import mapper
from workshop.mpi.implementations import implementation

MODULES = {
    "local": "workshop.sessions.launchers.site",
    "hosts": "workshop.sessions.launchers.ssh",
    "slurm": "workshop.sessions.launchers.slurm",
}
LOCAL = {"kind": "local"}
RANKS_PER_CORE = 8  # more oversubscription than that teaches nothing and eats the memory
# What ranks elsewhere need to be the same as here, beside what a placement and the conductor give them. Never a secret.
INHERITED = (
    "PYTHONPATH", "IPYTHONDIR", "KERAS_HOME", "NUMBA_CACHE_DIR", "WORKSHOP_DATA", "WORKSHOP_OFFLINE",
    environment.KERAS_DATA, processes.TAG,
)  # fmt: skip
NETWORK = ("UCX_", "FI_", "I_MPI_")  # how MPIs other than Open MPI, which does that by itself, use the network
# By which engines find their controller's file; its content, which ipyparallel has in a variable, too, stays here.
IPYPARALLEL = ("IPP_CLUSTER_ID", "IPP_PROFILE_DIR")
# What programs need to run at all, where no login gives it to them.
BASIC = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TERM", "LD_LIBRARY_PATH")
SETTINGS = ("LC_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "HYDRA_")  # how launchers are set up beside that


class SiteLost(WorkshopError):
    """The place itself is gone: a host, an allocation. The text says which and why."""


@dataclass(frozen=True)
class Reach:
    """How ranks reach their controller and conductor: what those bind to, and the address at which ranks find them."""

    bind: str = "127.0.0.1"
    address: str = "127.0.0.1"

    @property
    def encrypted(self) -> bool:
        """Whether ipyparallel's messages are encrypted, too: whenever they may leave this machine."""
        return self.bind != "127.0.0.1"


@dataclass(frozen=True)
class Launch:
    """The command that starts the ranks of a placement: `command -n RANKS arguments PROGRAM`, with these variables."""

    command: list[str]
    arguments: list[str]
    environment: dict[str, str]


class Site:
    """This machine, and the base of all other sites."""

    here = True  # whether all ranks run on this machine, as children of a launcher here

    def __init__(self, options: Mapping[str, Any], folder: Path, placement: Placement) -> None:
        """`folder` is the session's own, `placement` the one that it was started with. Starts nothing yet."""
        self.options = options
        self.folder = folder
        self.placement = placement

    def prepare(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> None:
        """Make the site ready to start ranks; `say` tells people the reason for a wait. May take long, and ends soon
        after `give_up` says so. Raises WorkshopError, BadInput where a person has to change something."""

    @property
    def reach(self) -> Reach:
        """How ranks reach the conductor; known once the site is prepared."""
        return Reach()

    def launch(self, placement: Placement, variables: Mapping[str, str]) -> Launch:
        """The launcher's command for ranks with the placement's variables and these. Raises BadInput."""
        chosen = mpi.module_of(placement.mpi)
        arguments = chosen.arguments(placement, topology.allowed_cores(topology.machine()))
        alone = {} if self.reach.encrypted else chosen.alone()
        environment = {**chosen.environment(placement), **alone, **placement.rank_environment(), **variables}
        return Launch([chosen.launcher()], arguments, environment)

    def lost(self, died: bool) -> str | None:
        """Why ranks can't run here any longer, in one sentence; None while they can. Asked several times a second;
        `died` says that the ranks have."""
        return None

    def close(self) -> None:
        """Give back what `prepare` took; the ranks have ended."""

    def clear_up(self) -> None:
        """Give back what a killed conductor has taken, without preparing the site first. Never raises."""


def exported(placement: Placement, variables: Mapping[str, str]) -> set[str]:
    """The variables that ranks on other machines get. They are listed by name, because launchers send them without
    encryption."""
    inherited = [name for name in os.environ if name in INHERITED or name.startswith(NETWORK)]
    return {"WORKSHOP_HOME", *placement.rank_environment(), *variables, *inherited, *IPYPARALLEL}


def with_only(names: Iterable[str], prefixes: tuple[str, ...] = ()) -> list[str]:
    """The words before a launcher's command by which it keeps only these variables, the basic ones, and names that
    begin with `prefixes`. Launchers send all their variables to their daemons."""
    keep = {*names, *BASIC, processes.UP_TAG}
    others = [name for name in sorted(os.environ) if name not in keep and not name.startswith((*SETTINGS, *prefixes))]
    return ["env", *(word for name in others for word in ("-u", name))] if others else []


def open_site(options: Mapping[str, Any], folder: Path, placement: Placement) -> Site:
    """The site for these options."""
    site: Site = module(options["kind"]).Site(options, folder, placement)
    return site


def check(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse a placement that can't run there, as far as that is known without starting anything. Raises BadInput."""
    environment.check()
    here = options["kind"] == LOCAL["kind"] and implementation(placement.mpi).shared_memory
    if here and (fault := environment.no_shared_memory()):
        raise BadInput(fault)
    module(options["kind"]).check_placement(options, placement)


def usual(placement: Placement) -> Mapping[str, Any]:
    """The site of a placement for which nobody has chosen a launcher: the hosts in the placement, the allocation of
    Slurm in which this process was started, what the centre's profile says, or this machine. Raises BadInput."""
    if placement.hosts:
        return requested("hosts", placement, {})
    if allocation := module("slurm").around():
        inside: Mapping[str, Any] = module("slurm").inside(allocation)
        return inside
    return LOCAL if (launcher := centre.read_profile().launcher) == "local" else requested(launcher, placement, {})


def default_placement() -> Placement:
    """The placement of a session for which nobody has said any: the tasks of the allocation of Slurm in which this
    process was started, or what suits this machine."""
    if allocation := module("slurm").around():
        placement: Placement = module("slurm").default_placement(allocation)
        return placement
    return default_for(topology.allowed_cores(topology.machine()))


def requested(name: str, placement: Placement, options: Mapping[str, str | None]) -> Mapping[str, Any]:
    """The site of a launcher that somebody has chosen, with the given values of its options. Raises BadInput."""
    site: Mapping[str, Any] = module(name).site_for(placement, **options)
    return site


def module(name: str) -> Any:
    """The module of a launcher."""
    return importlib.import_module(MODULES[name])


def site_for(placement: Placement) -> Mapping[str, Any]:
    """This machine."""
    return LOCAL


def check_placement(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse what this machine can't carry. Raises BadInput."""
    if placement.hosts:
        names = ", ".join(host.name for host in placement.hosts)
        raise BadInput(f"The session runs on this machine alone, not on {names}; start one with --hosts.")
    cores = topology.allowed_cores(topology.machine())
    most = RANKS_PER_CORE * cores
    if placement.ranks > most:
        raise BadInput(
            f"ranks is {placement.ranks}: with its {cores} cores this machine takes at most {most}, "
            f"{RANKS_PER_CORE} per core."
        )
    try:
        mapper.check(placement)
    except BadInput as error:
        raise BadInput(f"{_advice(placement, cores)}\n{error}" if mpi.REFUSES in str(error) else str(error)) from None


def _advice(placement: Placement, cores: int) -> str:
    """Return what to change in a placement that its MPI refuses on this machine. The mapper is only asked where the
    number of cores doesn't say it."""
    if scarce := scarcity(placement, cores):
        fewer = "fewer ranks" if placement.cores_per_rank == 1 else "fewer ranks, fewer cores for each"
        return f"{scarce} Try {fewer}, or ranks that are not bound (--map-by slot --bind-to none)."
    try:
        advice = mapper.predict(placement, machines.this()).advice
    except WorkshopError:
        advice = None
    return advice or "Try another placement."


def scarcity(placement: Placement, cores: int) -> str:
    """Return the sentence that says that a placement needs more than this machine's cores; "" where it doesn't."""
    if placement.hosts or placement.ranks * placement.cores_per_rank <= cores:
        return ""
    bound = f" with {placement.cores_per_rank} cores each" if placement.cores_per_rank > 1 else ""
    return f"This machine has {words.count(cores, 'core')}; you placed {words.count(placement.ranks, 'rank')}{bound}."
