"""A session in an allocation of Slurm: one job for as long as the session lives, placements start inside it.

Where the session is started inside an allocation (`salloc`, a batch script), it uses that one. Elsewhere it asks for
one of its own (`allocation`). The conductor stays where the session was started: it needs the store, and a SQLite
file is written on one host only. Ranks are started by the MPI's own launcher, which gets the allocation's variables as
in a shell of salloc, and starts its daemons on the nodes with srun. So another placement queues for nothing.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workshop import mpi
from workshop.core import centre, config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import preflight
from workshop.sessions.launchers.site import Launch, Reach, SiteLost, exported, with_only
from workshop.sessions.launchers.site import Site as _Site
from workshop.sessions.launchers.slurm import allocation, commands, options
from workshop.sessions.launchers.slurm.options import around, check_placement, default_placement, inside  # noqa: F401 (for `site`)
from workshop.sessions.launchers.ssh import address_towards

EVERY = 5  # seconds between looks at the job


def site_for(placement: Placement, **chosen: str | None) -> dict[str, Any]:
    """The site of a session in an allocation of its own, from the user's options. Raises BadInput, also where there is
    no Slurm."""
    commands.installed()
    return options.options(placement, **chosen)


class SlurmSite(_Site):
    """An allocation of Slurm."""

    here = False

    def __init__(self, options: Mapping[str, Any], folder: Path, placement: Placement) -> None:
        super().__init__(options, folder, placement)
        self._own: allocation.Allocation | None = None
        self._job: str | None = None
        self._variables: Mapping[str, str] = options.get("allocation") or {}
        self._machine: dict[str, Any] | None = None  # of the smallest of its nodes, once they have been asked
        self._reach = Reach()
        self._lost: str | None = None
        self._looked = 0.0  # when Slurm was last asked, on the monotonic clock

    def prepare(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> None:
        commands.installed()
        if not self._variables:
            name = f"workshop-{self.folder.name}-{secrets.token_hex(4)}"
            self._own = allocation.Allocation(self.options["request"], name, self.folder)
            self._variables = self._own.wait(float(self.options["wait"]), say, give_up)
        self._job = self._variables["SLURM_JOB_ID"]
        names = commands.hostnames(self._variables["SLURM_JOB_NODELIST"])
        address = self.options["address"] or address_towards([commands.address(name) for name in names])
        say(f"checking {', '.join(names)}")
        step = ["srun", f"-N{len(names)}", f"-n{len(names)}", "--ntasks-per-node=1", "--mpi=none", "--input=none"]
        variables = commands.environment() | self._launcher_variables()
        failures, self._machine = preflight.check_nodes(step, variables, len(names), self.folder, address, give_up)
        if give_up():
            raise WorkshopError("the session was asked to end while it waited for Slurm")
        if failures:
            raise BadInput("\n".join(failures))
        self._reach = Reach(address, address)

    @property
    def reach(self) -> Reach:
        return self._reach

    def launch(self, placement: Placement, variables: Mapping[str, str]) -> Launch:
        check_placement(self.options, placement)
        if lost := self._look():
            raise SiteLost(lost)
        chosen, profile = mpi.module_of(placement.mpi), centre.read_profile()
        environment = {
            **centre.loaded(profile.modules),
            **chosen.environment(placement),
            "WORKSHOP_HOME": str(config.home()),
            **self._launcher_variables(),
            **chosen.in_slurm(),
            **profile.environment,
            **placement.rank_environment(),
            **variables,
        }
        # Nor does it get what another allocation has told, inside of which the session was started.
        names = exported(placement, variables) | environment.keys() | {"SLURM_CONF"}
        command = [*with_only(names), chosen.launcher()]
        return Launch(command, options.arguments(self.options, placement, self._machine), environment)

    def _launcher_variables(self) -> dict[str, str]:
        """The variables by which a launcher starts its daemons in the allocation."""
        described = self._variables
        job, names = described["SLURM_JOB_ID"], described["SLURM_JOB_NODELIST"]
        return {
            "SLURM_JOB_ID": job,
            "SLURM_JOBID": job,
            "SLURM_JOB_NODELIST": names,
            "SLURM_NODELIST": names,
            "SLURM_JOB_NUM_NODES": described["SLURM_JOB_NUM_NODES"],
            "SLURM_NNODES": described["SLURM_JOB_NUM_NODES"],
            "SLURM_TASKS_PER_NODE": commands.slots(described),
            "SLURM_JOB_CPUS_PER_NODE": described["SLURM_JOB_CPUS_PER_NODE"],
            "SLURM_EXPORT_ENV": "ALL",  # of the little that a launcher or a command has
            "SLURM_OVERLAP": "1",  # what is left of earlier ranks must not make the next ones wait
        }

    def lost(self, died: bool) -> str | None:
        """See `Site.lost`. Slurm is asked every few seconds, and at once where ranks have died."""
        if died or time.monotonic() - self._looked > EVERY:
            self._look()
        return self._lost

    def _look(self) -> str | None:
        if self._lost is None and self._job is not None:
            self._lost = commands.lost(self._job, self.options["time"])
            self._looked = time.monotonic()
        return self._lost

    def close(self) -> None:
        if self._own is not None:
            self._own.release()
        self.clear_up()

    def clear_up(self) -> None:
        """End the job that was the session's own, also where only its name is known."""
        allocation.clear_up(self.folder)


Site = SlurmSite  # see `workshop.sessions.launchers.site`
