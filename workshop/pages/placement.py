"""The form of a placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop import registry
from workshop.core.placement import USUAL_MPI, Placement
from workshop.mpi import inventory
from workshop.pages.fields import model_form

FOLDED = ("mpi", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "environment")


def placement_form(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Widgets for a placement with the given values. Its hosts stay; other MPIs can be chosen where they are installed.
    Raises BadInput for values that can't be read."""
    known, there = registry.mpis(), inventory.installed()
    hidden = ("hosts",) if set(there) - {USUAL_MPI} else ("mpi", "hosts")
    choices = {"mpi": {name: known[name].title for name in there}}
    values, _ = model_form(Placement, given, key, advanced=FOLDED, hidden=hidden, choices=choices)
    return values
