"""Where ranks are started: on this machine, on several hosts over ssh (`ssh`), by Slurm (`slurm`). `site` describes
their common interface."""

from __future__ import annotations

from workshop.extension import Extension, Launcher

EXTENSION = Extension(
    launchers=(
        Launcher("local", "workshop.runtime.launchers.site"),
        Launcher("hosts", "workshop.runtime.launchers.ssh"),
        Launcher("slurm", "workshop.runtime.launchers.slurm"),
    ),
)
