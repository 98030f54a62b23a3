"""Plans for studies of a notebook, made as the command line makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.notebook.request import parted, plain, unknown
from workshop.runtime import client
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store
from workshop.study.trials import Plan


def check(store: Store, session: SessionRecord, chosen: Workload, planned_study: Plan, whose: Identity | None) -> None:
    """Refuse settings that no run could use. Raises BadInput."""
    for cell in planned_study.cells:
        if cell.why:  # a trial that can't be, which says so
            continue
        placement = client.placement_in(session, cell.placement)
        params = chosen.check(cell.params)
        if whose is not None:
            client.check_limits(placement, session.limits, chosen.processes(params) if chosen.processes else 0)
        client.inputs_of(store, chosen, params, placement)


def missing(kind: str) -> str:
    raise BadInput(f"Of which workload? Give its name, such as session.study({kind!r}, 'kmeans').")


def params_of(chosen: Workload, name: str) -> tuple[str, ...]:
    """The names that belong to the params. A name that the study has too is the study's, except the seed, which runs
    need."""
    return tuple(chosen.params.model_fields) if name == "seed" else ()


def parted_for(
    chosen: Workload, settings: Mapping[str, Any], own_names: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Params and fields; a name that is neither may be meant for the study."""
    for name in settings:
        elsewhere = name in chosen.params.model_fields or name in Placement.model_fields
        if not elsewhere and get_close_matches(name, own_names, 1, 0.8):
            raise unknown(name, own_names, "a setting of the study")
    return parted(chosen, settings)


def whole_number(name: str, value: Any) -> int:
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{name} is {value!r}: it should be a whole number.")
    return value


def number(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInput(f"{name} is {value!r}: it should be a number from {least:g} to {most:g}.")
    return float(value)
