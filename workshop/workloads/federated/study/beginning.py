"""Beginning a study of three ways: planned for the place where it will run, and kept before anything is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import topology
from workshop.core.placement import Placement, default_for
from workshop.extension import Workload
from workshop.runtime import client
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.estimate import seconds_each
from workshop.study.grid.seeds import SEED
from workshop.workloads.federated.study.plan import KIND, WaysStudy, plan


def checked(
    store: Store,
    workload: Workload,
    given: Mapping[str, Any],
    seeds: int,
    session: SessionRecord | None,
    placement: Placement | None = None,
) -> WaysStudy:
    """A study for a session (None: a private one) on this placement, or on the session's own, or on what this machine
    has. Raises BadInput for what can be known to be wrong before anything is started."""
    if placement is None and not (session is not None and session.placement):
        placement = default_for(topology.allowed_cores(topology.machine()))
    where = client.placement_in(session, placement.as_json() if placement is not None else None)
    wanted = plan(workload, given, where, seeds)
    client.inputs_of(store, workload, workload.check(wanted.cells[0].params), where)
    return wanted


def begin(store: Store, wanted: WaysStudy, submitted_by: str = "") -> StudyRecord:
    """Keep a study of which nothing is run yet, so that a class can predict what will come out of it."""
    return store.create_study(KIND, wanted.workload, wanted.description(), wanted.trials(), submitted_by)


def expected(store: Store, wanted: WaysStudy) -> tuple[float, str]:
    """Seconds that all its seeds are likely to take, and in a few words from what that is known."""
    params = {name: value for name, value in wanted.params.items() if name != SEED}
    each, why = seconds_each(store, wanted.workload, params)
    return each * wanted.seeds, why
