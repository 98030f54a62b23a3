"""Where the ranks of a session run: on this machine, on several hosts, in an allocation of Slurm.

A session's `site` is a mapping: `kind`, and what that kind needs. Whoever submits asks `check`, which starts nothing;
the conductor makes a `Site` of it, prepares it, launches ranks there, and closes it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workshop import mpi, topology
from workshop.errors import BadInput, WorkshopError
from workshop.placement import Placement

LOCAL = {"kind": "local"}
KINDS = {"local": "workshop.session.site", "hosts": "workshop.session.hosts", "slurm": "workshop.session.slurm"}
RANKS_PER_CORE = 8  # more oversubscription than that teaches nothing and eats the memory


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
    """What starts the ranks of a placement: `command -n RANKS arguments PROGRAM`, with these variables."""

    command: list[str]
    arguments: list[str]
    environment: dict[str, str]


class Site:
    """This machine. Other kinds say what is different there."""

    def __init__(self, options: Mapping[str, Any], folder: Path, placement: Placement) -> None:
        """`folder` is the session's own, `placement` the one that it was started with. Starts nothing yet."""
        self.options = options
        self.folder = folder
        self.placement = placement
        self.clocks: dict[str, float] = {}  # host -> seconds by which its clock is ahead of ours, where that is known

    def prepare(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> None:
        """Make it ready to start ranks; `say` tells people what it waits for. May take long, and ends soon after
        `give_up` says so. Raises WorkshopError, BadInput for what a person has to change."""

    @property
    def reach(self) -> Reach:
        """Known once it is prepared."""
        return Reach()

    def launch(self, placement: Placement, variables: Mapping[str, str]) -> Launch:
        """How to start ranks that get the placement's variables and these. Raises BadInput."""
        chosen = mpi.of(placement.mpi)
        arguments = chosen.arguments(placement, topology.allowed_cores(topology.machine()))
        environment = {**chosen.environment(placement), **placement.rank_environment(), **variables}
        return Launch([chosen.launcher()], arguments, environment)

    def lost(self, silent: Mapping[str, float]) -> str | None:
        """Why ranks can't run here any longer, in one sentence; None while they can. Asked several times a second.

        `silent`: for each host that has ranks, the seconds since any of them was heard of.
        """
        return None

    def close(self) -> None:
        """Give back what `prepare` took; the ranks have ended."""

    def clear_up(self) -> None:
        """Give back what a conductor that was killed has taken, without having prepared anything. Never raises."""


def of(options: Mapping[str, Any], folder: Path, placement: Placement) -> Site:
    """The site of that kind."""
    return _module(options).Site(options, folder, placement)


def check(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse a placement that can't run there, as far as that is known without starting anything. Raises BadInput."""
    _module(options).check_placement(options, placement)


def _module(options: Mapping[str, Any]) -> Any:
    return importlib.import_module(KINDS[options["kind"]])


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
    mpi.of(placement.mpi).check(placement, cores)
