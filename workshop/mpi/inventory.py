"""Which MPIs there are on this machine, and whether they start ranks."""

from __future__ import annotations

from importlib import metadata
from typing import Any, get_args

from workshop import mpi
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import MPI, Placement
from workshop.mpi import prefix


def mpis(check: bool = False) -> dict[str, dict[str, Any]]:
    """Every MPI by name: its `title`, its `version`, `where` its launcher is (None: not installed), whether it `starts`
    two ranks (None: not tried), and a `note` on problems."""
    return {name: _about(name, check) for name in get_args(MPI)}


def _about(name: MPI, check: bool) -> dict[str, Any]:
    module = mpi.of(name)
    about: dict[str, Any] = {"title": module.NAME, "version": None, "where": None, "starts": None, "note": ""}
    try:
        launcher = module.launcher()
    except BadInput as absent:
        return about | {"note": str(absent)}
    folder = prefix.installed().get(name)
    version = prefix.version(folder) if folder else metadata.version("openmpi")
    about |= {"version": version, "where": launcher}
    if not check:
        return about
    placement = Placement(mpi=name, ranks=2)
    options = module.arguments(placement, topology.allowed_cores(topology.machine()))
    words = prefix.starts([launcher, *options], module.environment(placement))
    return about | {"starts": words is None, "note": words or ""}
