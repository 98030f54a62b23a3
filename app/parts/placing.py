"""The form of a placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parts.fields import model_form

from workshop.placement import Placement

FOLDED = ("map_by", "per_resource", "cores_per_rank", "bind_to", "environment")
HIDDEN = ("mpi", "hosts")  # sessions run on Open MPI and on this machine


def placement_form(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Widgets for a placement, beginning with the given one. Raises BadInput for what can't be read."""
    values, _ = model_form(Placement, given, key, advanced=FOLDED, hidden=HIDDEN)
    return values
