"""A run from a notebook: submitted to the session's queue, followed in one line until it ends."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from html import escape
from typing import Any

from workshop.core import words as say
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import going_on
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.notebook.display import StatusLine
from workshop.notebook.request import on_top
from workshop.registry import workload_title, workloads
from workshop.report import html
from workshop.report.activity import ActivityReader
from workshop.report.run_sections import turn
from workshop.report.sentences import STATUS, state_words, value_words
from workshop.runtime import client
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

ENDS = 30.0  # seconds within which a run that was cancelled has ended
ATTACH = "session = workshop.attach()"
NEW = 20_000  # events that are looked through at once for the latest values


class CellStopped(KeyboardInterrupt):
    """The stop button, with one sentence on what it has ended. The rest of the cell isn't run."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def submit(
    store: Store,
    session: SessionRecord,
    chosen: Workload,
    params: Mapping[str, Any],
    fields: Mapping[str, Any],
    identity: Identity | None,
    measured: bool = False,
) -> RunRecord:
    """Queue a run, whose placement adds to the session's. A run that goes on from an earlier one has that one's params
    and placement. Raises BadInput."""
    base, values = session.placement, dict(params)
    if earlier := client.gone_on_from(store, chosen, values):
        values = {**going_on(chosen.params, earlier.params), **values}
        base = {**earlier.placement, "hosts": ()}
    placement = on_top(base, fields)
    return client.submit(store, session, chosen.name, values, placement, identity=identity, measured=measured)


def follow(store: Store, run: RunRecord, status: StatusLine) -> RunRecord:
    """Wait for a run's end and show how far it is. Raises CellStopped where somebody presses the stop button, which
    cancels the run, and WorkshopError where its session is gone."""
    latest = Latest(store, run)

    def look(now: RunRecord) -> None:
        if not now.ended:
            status.update(*_going_on(store, now, latest))

    try:
        return client.wait(store, run.id, look)
    except KeyboardInterrupt:
        raise stop(store, run, status) from None
    except WorkshopError as error:
        status.last(f"Run {run.id}: not done", html.box(html.line(f"Run {run.id} is not done.")))
        raise WorkshopError(f"{error} Or go on elsewhere: `{ATTACH}`.") from None


def stop(store: Store, run: RunRecord, status_line: StatusLine) -> CellStopped:
    """Cancel a run, and wait until it has ended; returns what to raise."""
    status_line.last(f"Run {run.id}: cancelling", html.box(html.line(f"Run {run.id} is being cancelled.")))
    with suppress(BadInput):  # it may have ended just now
        client.cancel(store, run.id)
    try:
        status = client.wait(store, run.id, timeout=ENDS).status
    except WorkshopError as error:
        sentence = f"Run {run.id} was asked to end: {error}"
    else:
        sentence = f"Run {run.id} was stopped: it is {status}. The rest of the cell was not run."
    status_line.last(sentence, html.box(html.line(sentence)))
    return CellStopped(sentence)


def dashboard(path: str) -> str | None:
    """The address of one of the dashboard's pages, where this notebook was told of one."""
    address = os.environ.get("WORKSHOP_DASHBOARD", "").rstrip("/")
    return f"{address}{path}" if address.startswith(("http://", "https://", "/")) else None


def link(run_id: int) -> str | None:
    """The run's page."""
    return dashboard(f"/run?run={run_id}")


class Latest:
    """The newest values of the events that a workload draws; reads only new ones."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        workload = workloads().get(run.workload)
        self._store, self._run = store, run.id
        self.activity = ActivityReader(store)
        self._names = workload.curves if workload else ()
        self._after = 0
        self._values: dict[str, float] = {}

    def look(self) -> Iterable[tuple[str, str]]:
        """Names and values as words, the most important first."""
        newest = self._store.last_event_id(self._run)
        if newest > self._after:
            after = max(self._after, newest - NEW)
            for event in self._store.events(self._run, self._names or None, rank=0, after=after, limit=NEW):
                if math.isfinite(event.value) and (self._names or not event.name.startswith("time.")):
                    self._values[event.name] = event.value
            self._after = newest
        order = self._names or sorted(self._values)
        values = [(name, value_words(name, self._values[name])) for name in order if name in self._values]
        return [(name, value) for name, value in values if value is not None][:3]


def _going_on(store: Store, run: RunRecord, latest: Latest) -> tuple[str, str]:
    """A run that hasn't ended, in words and as HTML."""
    title = f"Run {run.id}: {workload_title(run.workload)} on {Placement.parse(run.placement).describe()}"
    if run.status == "queued":
        waits = f"{turn(store, run)} {state_words(store.session(run.session_id))}"
        return f"{title}: waiting. {waits}", html.box(f"{html.line(title)}{html.muted(f'Waiting. {waits}')}")
    bar, words = "<progress></progress>", latest.activity.words(run) or STATUS[run.status]
    if run.progress and run.progress[1] > 0:
        share = min(max(run.progress[0] / run.progress[1], 0.0), 1.0)
        bar = f'<progress max="1" value="{share:.4f}"></progress>'
        words = f"{words} · {say.percent(share)}"
    metrics = ", ".join(f"{name} {value}" for name, value in latest.look())
    state = f"{words}{f' · {metrics}' if metrics else ''}"
    return f"{title}: {state}", html.box(f"{html.line(title)}{bar} {escape(state)}")
