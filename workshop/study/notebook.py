"""Planning scaling studies and grids from a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.extension import Workload
from workshop.notebook.request import on_top
from workshop.notebook.session import cores_of
from workshop.notebook.studies import parted_for, whole_number
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.trials import Plan


def scaling(store: Store, session: SessionRecord, chosen: Workload, arguments: dict[str, Any]) -> Plan:
    from workshop.study.scaling.plan import default_ranks, plan

    requested = arguments.pop("ranks", None) or default_ranks(cores_of(session))
    numbers = [requested] if isinstance(requested, int) else requested
    ranks = sorted(whole_number("ranks", number) for number in numbers)
    weak, repeats = bool(arguments.pop("weak", False)), whole_number("repeats", arguments.pop("repeats", 3))
    params, fields = parted_for(chosen, arguments, ("ranks", "weak", "repeats", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, {**fields, "ranks": ranks[0]}))
    return plan(chosen, params, ranks, placement, weak, repeats)


def grid(store: Store, session: SessionRecord, chosen: Workload, arguments: dict[str, Any]) -> Plan:
    from workshop.study.grid import plan as grids

    names = ("vary", "repeats", "weak")
    options = {name: arguments.pop(name) for name in names if name in arguments}
    vary = options.pop("vary", None)
    if not isinstance(vary, Mapping):
        raise BadInput("A grid needs vary, such as vary={'ranks': [1, 2], 'batch': [32, 64]}.")
    params, fields = parted_for(chosen, arguments, (*names, "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    return grids.plan_here(store, session, chosen, vary, params, placement, grids.options(**options))
