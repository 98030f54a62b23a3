"""A run in a session of its own that goes on when the command has ended, and ends by itself when the run has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.sessions import client, lifecycle
from workshop.store.records import Limits, RunRecord
from workshop.store.store import Store


def begin(
    store: Store, purpose: str, name: str, values: Mapping[str, Any], placement: Placement, minutes: float
) -> RunRecord:
    """Submit a run of workload `name` and bring up a session for it; returns when ranks are about to take the run.

    `purpose` begins the session's name, `minutes` is the longest time of the run. Raises BadInput before anything is
    started for what can be checked then, and WorkshopError with the reason where the session doesn't come up; then the
    run is cancelled and nothing is left."""
    chosen = workload(name)
    where = client.placement_in(None, placement.as_json())
    client.inputs_of(store, chosen, chosen.check(values), where)
    session, conductor = lifecycle.start_session(
        store,
        lifecycle.private_name(purpose),
        where,
        limits=Limits(minutes=minutes, everybody=True),
        private=True,
        until_idle=True,
    )
    try:
        run = client.submit(store, session, name, values, where.as_json())
    except BaseException:
        lifecycle.end_conductor(conductor)
        lifecycle.clean_up(store, session)
        raise
    try:
        lifecycle.wait_ready(store, session, conductor)
    except WorkshopError:
        if store.run(run.id).started_at is None:  # otherwise it is over already, and its session with it
            lifecycle.cancel_queue(store, session.id)
            raise
    return store.run(run.id)
