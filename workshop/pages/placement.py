"""The form of a placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.placement import Placement
from workshop.mpi import prefix
from workshop.pages.fields import model_form

FOLDED = ("mpi", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "environment")


def placement_form(given: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Widgets for a placement with the given values. Its hosts stay; other MPIs can be chosen where they are installed.
    Raises BadInput for values that can't be read."""
    hidden = ("hosts",) if prefix.installed() else ("mpi", "hosts")
    values, _ = model_form(Placement, given, key, advanced=FOLDED, hidden=hidden)
    return values
