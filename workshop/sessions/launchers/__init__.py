"""Where ranks are started: on this machine, on several hosts over ssh (`ssh`), by Slurm (`slurm`). `site` describes
their common interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LauncherOption:
    """An option of `workshop session start` and `workshop up`, whose value is text."""

    name: str
    metavar: str
    help: str


@dataclass(frozen=True)
class Launcher:
    """Where the ranks of a session run.

    `module` has what `workshop.sessions.launchers.site` describes: `site_for`, `check_placement` and `Site`. People ask
    for the launcher with the option `--NAME`, whose help is `flag`. Without a flag nobody can ask for it: it takes the
    placements that name hosts, or is this machine. `title` follows "a session on". `options` are for those who ask for
    it.
    """

    name: str
    module: str
    title: str
    flag: str = ""
    options: Sequence[LauncherOption] = ()


_ADDRESS = LauncherOption("address", "ADDRESS", "Of this host, by which other hosts and nodes reach it.")
_ALL = (
    Launcher("local", "workshop.sessions.launchers.site", "this machine"),
    Launcher("hosts", "workshop.sessions.launchers.ssh", "several hosts", options=(_ADDRESS,)),
    Launcher(
        "slurm",
        "workshop.sessions.launchers.slurm",
        "Slurm",
        flag="Run it in an allocation of Slurm.",
        options=(
            LauncherOption("partition", "NAME", "Slurm's partition."),
            LauncherOption("account", "NAME", "Slurm's account."),
            LauncherOption("qos", "NAME", "Slurm's quality of service."),
            LauncherOption("reservation", "NAME", "A reservation of Slurm's, such as a class's."),
            LauncherOption("constraint", "FEATURES", "Features that Slurm's nodes must have."),
            LauncherOption("gpus", "N", "GPUs, as salloc takes them."),
            LauncherOption("time", "MINUTES", "How long Slurm gives the session."),
            LauncherOption("nodes", "N", "Nodes of Slurm for the ranks."),
            LauncherOption("wait", "MINUTES", "How long to wait in Slurm's queue."),
            _ADDRESS,
        ),
    ),
)
LAUNCHERS: Mapping[str, Launcher] = {entry.name: entry for entry in _ALL}
