"""One module per MPI: its command line, its reports, its quirks, its prefix."""

from __future__ import annotations

import importlib
from typing import Any

from workshop.core.placement import MPI

REFUSES = "refuses this placement, in its own words:"  # behind the MPI's name, wherever one is quoted


def of(name: MPI) -> Any:
    """The module of an MPI: `NAME`, `launcher`, `arguments`, `environment`, `check`, `death`, `refusal`."""
    return importlib.import_module(f"workshop.mpi.{name}")
