"""The same run on one host and on two: what does it cost that ranks talk over a link?"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.demo.hosts import EmulatedHosts
from workshop.demo.link import Link
from workshop.demo.session import placement, session_on
from workshop.registry import workload
from workshop.runtime import client
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

RANKS = 2
LONGEST = 900.0  # seconds for one run
TALKING = ("time.communicate", "time.wait")  # events of what ranks spend on each other
# Enough steps to see the difference, few enough to wait for.
PARAMS: Mapping[str, Mapping[str, Any]] = {
    "mnist": {"epochs": 100, "steps": 60, "trace": 0, "checkpoint": "off", "exchange": "mpi"},
}


@dataclass(frozen=True)
class LinkRow:
    """One run: the hosts of its ranks, their common speed, and the cost of communication."""

    name: str
    hosts: list[str]
    run: int
    speed: float | None  # in `unit`
    unit: str
    seconds: float  # of the whole run
    talking: float | None  # seconds that a rank spent on communication and waiting for it, on average
    share: float | None  # of its compute and communication time
    sent: int  # bytes that its hosts sent while it ran


@dataclass(frozen=True)
class LinkComparison:
    link: str
    workload: str
    rows: list[LinkRow]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """The result of the two runs in a sentence."""
        single, several = self.rows
        text = (
            f"Two hosts sent {words.size(several.sent)} to each other; "
            f"inside one host it was {words.size(single.sent)}."
        )
        if single.share is not None and several.share is not None:
            text += (
                f" Ranks spent {words.percent(several.share)} of their time on talking and waiting, "
                f"instead of {words.percent(single.share)}."
            )
        if single.speed and several.speed:
            text += (
                f" Over this link the same work went {several.speed / single.speed:.2f} times as fast as in one host; "
                "one pair of runs can't tell how much of that is chance."
            )
        return text


def compare(
    store: Store, count: int, limit: Link, name: str = "mnist", say: Callable[[str], None] = lambda _: None
) -> LinkComparison:
    """Bring up hosts, run a workload on two ranks of one host and on one rank of each of two hosts, and end all.

    Raises BadInput where this machine can't emulate hosts, WorkshopError where a run fails.
    """
    if count < 2:
        raise BadInput(f"hosts is {count}: comparing one host with two takes at least 2.")
    chosen = workload(name)
    params = PARAMS.get(name, {})
    chosen.check(params)
    say(f"Bringing up {count} hosts; link: {limit.describe()}")
    with EmulatedHosts(count, limit) as hosts:
        say("Starting a session on them")
        with session_on(hosts, store, f"demo-{os.getpid()}", RANKS, private=True) as started:
            rows = [
                _row(store, started.record, hosts, name, params, names, say)
                for names in (hosts.names[:1], hosts.names[:2])
            ]
    return LinkComparison(limit.describe(), name, rows)


def _row(
    store: Store,
    session: SessionRecord,
    hosts: EmulatedHosts,
    name: str,
    params: Mapping[str, Any],
    names: list[str],
    say: Callable[[str], None],
) -> LinkRow:
    title = f"{RANKS} ranks on {len(names)} host{'s' if len(names) > 1 else ''}"
    say(f"Running {name} with {title}")
    where = placement(names, RANKS // len(names), RANKS)
    before = {host: hosts.traffic(host) for host in names}
    submitted = client.submit(store, session, name, params, where.as_json(), measured=True)
    try:
        run = client.wait(store, submitted.id, timeout=LONGEST, say=say)
    except KeyboardInterrupt:
        client.cancel(store, submitted.id)
        raise
    if run.status != "completed":
        problem = run.error["message"] if run.error else run.status
        raise WorkshopError(f"Run {run.id} of {name} with {title} {run.status}: {problem}")
    sent = sum((hosts.traffic(host) - before[host]).sent for host in names)
    return _link_row(store, run, title, names, sent)


def _link_row(store: Store, run: RunRecord, title: str, names: list[str], sent: int) -> LinkRow:
    totals = store.totals(run.id)

    def mean(*events: str) -> float:
        return sum(seconds for event in events for _, seconds in totals.get(event, {}).values()) / RANKS

    talking, all_of_it = mean(*TALKING), mean("time.compute", "time.input", *TALKING)
    scaling = workload(run.workload).scaling
    speed = run.metrics.get(scaling.rate) if scaling else None
    assert run.started_at is not None and run.finished_at is not None, "it has completed"
    return LinkRow(
        name=title,
        hosts=names,
        run=run.id,
        speed=float(speed) if isinstance(speed, int | float) else None,
        unit=scaling.unit if scaling else "",
        seconds=run.finished_at - run.started_at,
        talking=talking if all_of_it else None,
        share=talking / all_of_it if all_of_it else None,
        sent=sent,
    )
