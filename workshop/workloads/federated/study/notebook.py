"""Planning three ways from a notebook."""

from __future__ import annotations

from typing import Any

from workshop.extension import Workload
from workshop.notebook.request import on_top
from workshop.notebook.study_plan import PlannedStudy, parted_for, whole
from workshop.runtime import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def plan(store: Store, session: SessionRecord, chosen: Workload, asked: dict[str, Any]) -> PlannedStudy:
    from workshop.workloads.federated.study.plan import SEEDS, checked

    seeds = whole("seeds", asked.pop("seeds", SEEDS))
    params, fields = parted_for(chosen, asked, ("seeds", "minutes"))
    placement = client.placement_in(session, on_top(session.placement, fields))
    return checked(store, chosen, params, seeds, session, placement)
