"""Which MPIs there are on this machine."""

from __future__ import annotations

import contextlib
from typing import Any

from workshop import mpi
from workshop.core.errors import BadInput
from workshop.mpi.implementations import IMPLEMENTATIONS


def installed() -> list[str]:
    """The names of the MPIs that are on this machine, in their order."""
    names = []
    for name in IMPLEMENTATIONS:
        with contextlib.suppress(BadInput):
            mpi.module_of(name).launcher()
            names.append(name)
    return names


def mpis() -> dict[str, dict[str, Any]]:
    """Every MPI by name: its `title`, its `version`, `where` its launcher is (None: not installed), and a `note` on
    what would install it."""
    return {name: _about(name, mpi_class.title) for name, mpi_class in IMPLEMENTATIONS.items()}


def _about(name: str, title: str) -> dict[str, Any]:
    try:
        module = mpi.module_of(name)
        return {"title": title, "version": module.version(), "where": module.launcher(), "note": ""}
    except BadInput as absent:
        return {"title": title, "version": None, "where": None, "note": str(absent)}
