"""A run in a session of its own that goes on when the command has ended, and ends by itself when the run has."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.runtime import client, lifecycle
from workshop.store.records import Limits, RunRecord, SessionRecord
from workshop.store.store import Store

CANCELLED = 20.0  # seconds within which a run has ended when it is asked to


def begin(
    store: Store, purpose: str, name: str, values: Mapping[str, Any], placement: Placement, minutes: float
) -> tuple[RunRecord, subprocess.Popen[bytes]]:
    """Submit a run of workload `name` and bring up a session for it; returns when ranks are about to take the run, also
    the session's conductor, for callers that wait for it. `purpose` begins the session's name, `minutes` is the longest
    time of the run. Raises BadInput before anything is started for what can be checked then, and WorkshopError with the
    reason where the session doesn't come up; then the run is cancelled and nothing is left."""
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
    return store.run(run.id), conductor


def end(store: Store, run: RunRecord) -> RunRecord:
    """End a run. Where the run has a session of its own, end that session with all its processes, too, and wait until
    they have ended. Raises BadInput for a run that has ended already."""
    session = store.session(run.session_id)
    if not its_own(session):
        client.cancel(store, run.id)
        return client.wait(store, run.id, timeout=CANCELLED)
    if run.ended and session.state in ("stopped", "failed"):
        raise BadInput(f"Run {run.id} has ended already: it is {run.status}.")
    with suppress(WorkshopError):  # it has ended just now, or can't be asked: then the session's end is its own
        client.cancel(store, run.id)
        client.wait(store, run.id, timeout=CANCELLED)
    lifecycle.stop_session(store, session.name)
    return client.read(store, run.id)


def its_own(session: SessionRecord) -> bool:
    """Whether this is the session of a single run, as `begin` makes them."""
    return session.private and session.limits.everybody
