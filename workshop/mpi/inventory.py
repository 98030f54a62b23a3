"""Which MPIs there are on this machine, and whether they start ranks."""

from __future__ import annotations

import contextlib
from typing import Any

from workshop import mpi
from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import prefix
from workshop.mpi.implementations import IMPLEMENTATIONS


def installed() -> list[str]:
    """The names of the MPIs that are on this machine, in their order."""
    names = []
    for name in IMPLEMENTATIONS:
        with contextlib.suppress(BadInput):
            mpi.module_of(name).launcher()
            names.append(name)
    return names


def mpis(check: bool = False) -> dict[str, dict[str, Any]]:
    """Every MPI by name: its `title`, its `version`, `where` its launcher is (None: not installed), whether it `starts`
    two ranks (None: not tried), and a `note` on problems."""
    return {name: _about(name, mpi_class.title, check) for name, mpi_class in IMPLEMENTATIONS.items()}


def _about(name: str, title: str, check: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"title": title, "version": None, "where": None, "starts": None, "note": ""}
    try:
        module = mpi.module_of(name)
        launcher = module.launcher()
    except BadInput as absent:
        return about | {"note": str(absent)}
    about |= {"version": module.version(), "where": launcher}
    if not check:
        return about
    placement = Placement(mpi=name, ranks=2)
    options = module.arguments(placement, topology.allowed_cores(topology.machine()))
    words = prefix.starts([launcher, *options], module.environment(placement))
    return about | {"starts": words is None, "note": words or ""}
