"""What tests of sites on Slurm share; their fixtures are in conftest.py."""

from __future__ import annotations

from pathlib import Path

from workshop.core.placement import Placement
from workshop.sessions.launchers.slurm import Site
from workshop.sessions.launchers.slurm import options as slurm_options

ON_EACH = Placement(ranks=3, map_by="node", per_resource=1)  # one rank on each node


def never() -> bool:
    return False


def alone(folder: Path, placement: Placement = ON_EACH, **chosen: str) -> Site:
    return Site(slurm_options.options(placement, **chosen), folder, placement)
