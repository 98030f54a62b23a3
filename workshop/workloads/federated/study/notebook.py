"""Planning three ways from a notebook."""

from __future__ import annotations

from typing import Any

from workshop.extension import Workload
from workshop.notebook.request import on_top
from workshop.notebook.studies import parted_for, whole_number
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.trials import Plan


def plan(store: Store, session: SessionRecord, chosen: Workload, options: dict[str, Any]) -> Plan:
    from workshop.workloads.federated.study.plan import SEEDS, checked

    seeds = whole_number("seeds", options.pop("seeds", SEEDS))
    params, fields = parted_for(chosen, options, ("seeds", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    return checked(store, chosen, params, seeds, session, placement)
