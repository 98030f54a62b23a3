"""Where ranks are started: on this machine, on several hosts over ssh (`ssh`), by Slurm (`slurm`). `site` describes
their common interface."""

from __future__ import annotations

from workshop.extension import Extension, Launcher, LauncherOption

ADDRESS = LauncherOption("address", "ADDRESS", "Of this host, by which other hosts and nodes reach it.")
EXTENSION = Extension(
    launchers=(
        Launcher("local", "workshop.runtime.launchers.site", title="this machine", order=100),
        Launcher(
            "hosts",
            "workshop.runtime.launchers.ssh",
            title="several hosts",
            hosts=True,
            options=(ADDRESS,),
            order=200,
        ),
        Launcher(
            "slurm",
            "workshop.runtime.launchers.slurm",
            title="Slurm",
            flag="Run it in an allocation of Slurm.",
            options=(
                LauncherOption("partition", "NAME", "Slurm's partition."),
                LauncherOption("account", "NAME", "Slurm's account."),
                LauncherOption("time", "MINUTES", "How long Slurm gives the session."),
                LauncherOption("nodes", "N", "Nodes of Slurm for the ranks."),
                LauncherOption("wait", "MINUTES", "How long to wait in Slurm's queue."),
                LauncherOption("template", "FILE", "An sbatch script to use instead (docs/slurm.md)."),
                ADDRESS,
            ),
            order=300,
        ),
    ),
)
