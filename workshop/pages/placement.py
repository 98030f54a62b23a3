"""The form of a placement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from workshop import registry
from workshop.core.placement import USUAL_MPI, Placement
from workshop.mpi import inventory
from workshop.pages.fields import model_form

FOLDED = ("mpi", "map_by", "per_resource", "cores_per_rank", "bind_to", "oversubscribe", "environment")


def placement_form(
    start_values: Mapping[str, Any],
    key: str,
    names: Collection[str] = tuple(Placement.model_fields),
    most: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Widgets for the fields of a placement with these `names`; other fields keep the given values. Its hosts stay;
    other MPIs can be chosen where they are installed. `most` is that of `model_form`. Raises BadInput for values that
    can't be read."""
    all_mpis, installed = registry.mpis(), inventory.installed()
    hidden = {"hosts", *(Placement.model_fields.keys() - names)} | (set() if set(installed) - {USUAL_MPI} else {"mpi"})
    choices = {"mpi": {name: all_mpis[name].title for name in installed}}
    values, _ = model_form(Placement, start_values, key, advanced=FOLDED, hidden=hidden, choices=choices, most=most)
    return values
