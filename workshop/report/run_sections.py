"""The sections of the live pages of a run and of a session, for `workshop.web.live`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload_title
from workshop.report import html
from workshop.report.activity import ActivityReader
from workshop.report.analysis.threads import asked_threads, threads_of
from workshop.report.cards import Card, line, paragraph
from workshop.report.machine_picture import machine_card
from workshop.report.panels import panels
from workshop.report.sentences import STATUS, dumps, rest_words, state_words, waiting, waits_for, who
from workshop.report.snapshot import Panel, Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.runs import expected_wait
from workshop.store.store import Store

LIVE, ENDED = 0.25, 2.0  # seconds between looks
MOMENTS = 400  # of a replay
# What reading something that isn't as expected can raise; what the store raises concerns the whole page.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)

log = logging.getLogger(__name__)


class RunLook:
    """Reads a run; a panel is rendered again only when its data have changed."""

    def __init__(self, store: Store, run_id: int) -> None:
        self.store = store
        self.id = run_id
        self.every = LIVE
        self._seen: dict[str, Any] = {}
        self._activity = ActivityReader(store)

    def __call__(self) -> Mapping[str, str]:
        run = self.store.run(self.id)
        self.every = ENDED if run.ended else LIVE
        snapshot = Snapshot(self.store, run)
        page_panels = panels(snapshot)
        sections = {"panels": dumps({panel.name: panel.section for panel in page_panels})}
        sections["run"] = dumps(self._facts(snapshot))
        for panel in page_panels:
            version = panel.version(snapshot)
            if self._seen.get(panel.name, self) != version:
                sections[panel.name] = _render(panel, snapshot)
                self._seen[panel.name] = version
        if snapshot.newest is not None:
            sections["told"] = dumps({"events": snapshot.events, "newest": snapshot.newest})
        return sections

    def _facts(self, snapshot: Snapshot) -> dict[str, Any]:
        run, workload = snapshot.run, snapshot.workload
        facts = _row(run) | {
            "title": workload_title(run.workload),
            "star": (workload.star or next(iter(workload.curves or ()), "")) if workload else "",
            "words": "cancelling" if run.cancel_requested and not run.ended else STATUS[run.status],
            "ended": run.ended,
            "session": run.session,
            "progress": run.progress,
            "activity": self._activity.words(run),
            "queued_at": run.queued_at,
            "notices": run.notices,
            "owner": run.identity_id,
            "turn": None,
            "queue": [],
        }
        if run.status == "queued":
            before = [*self.store.runs(session_id=run.session_id, status="running"), *self.store.queue(run.session_id)]
            last = next((place for place, other in enumerate(before) if other.id == run.id), len(before) - 1)
            facts["queue"] = ["Run {id}: {workload}, {who}".format_map(_row(other)) for other in before[: last + 1]]
            facts["turn"] = f"{turn(self.store, run)} {state_words(self.store.session(run.session_id))}"
        return facts


def moment(store: Store, run_id: int, number: int) -> str:
    """The panels of an ended run as they were at one of its moments, from 0 (its start) to `MOMENTS` (its end), as a
    JSON object. Raises BadInput for a run that has no such moment."""
    run = store.run(run_id)
    if run.started_at is None or run.finished_at is None or number > MOMENTS:
        raise BadInput(f"Run {run_id} has no moment {number}; runs that have ended have the moments 0 to {MOMENTS}.")
    snapshot = Snapshot(store, run, run.started_at + (run.finished_at - run.started_at) * number / MOMENTS)
    return f"{{{','.join(f'{dumps(panel.name)}:{_render(panel, snapshot)}' for panel in panels(snapshot))}}}"


def turn(store: Store, run: RunRecord) -> str:
    """When a queued run is likely to begin, or for whom it waits."""
    if words := waits_for(store.session(run.session_id), run):
        return words
    queue = store.queue(run.session_id)
    position = next((number for number, other in enumerate(queue, 1) if other.id == run.id), 1)
    running = next(iter(store.runs(session_id=run.session_id, status="running", limit=1)), None)
    waits = expected_wait(queue, running, store.runs(session_id=run.session_id, limit=50))
    before = queue[position - 2] if position > 1 else running
    behind = f", behind run {before.id}" if before is not None else ""
    return f"Number {position} in the queue{behind}, expected to start: {waiting(waits.get(run.id))}."


def _render(panel: Panel, snapshot: Snapshot) -> str:
    """A panel's cards as JSON. One that can't read what a workload left must not take the others with it."""
    try:
        return html.live(panel.show(snapshot), tables=snapshot.run.ended)
    except UNREADABLE:
        log.exception("the panel %s of run %s could not be made", panel.name, snapshot.run.id)
        message = "This part can't be shown: the run left something that can't be read; the dashboard's log says what."
        return html.live([Card(panel.name, panel.name.capitalize(), (paragraph(line(message, tone="alarm")),))])


EVERY = 0.5  # seconds between looks
HISTORY = 50  # runs from which expected waits are taken
RECENT = 6  # ended runs that are shown
EMPTY = "Nobody waits: the next run starts when the ranks are up."
# The meaning of an empty queue for learners who want to start a run, by the session's state.
EMPTY_QUEUES = {"recorded": "Nobody waits: this is a recording.", "starting": EMPTY, "restarting": EMPTY}


class SessionLook:
    """Looks at a session; the picture is drawn again only when ranks have moved."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self.every = EVERY
        self._drawn: object = None
        self._activity = ActivityReader(store)

    def __call__(self) -> Mapping[str, str]:
        session = self.store.session(self.name)
        runs = self.store.runs(session_id=session.id, limit=HISTORY)
        sections = {"session": dumps(_facts(session)), "queue": dumps(self._queue(session, runs))}
        up = session.state in ("ready", "running", "recorded")
        last_run = _last_run(session, runs) if up else None
        threads = threads_of(last_run) if last_run else asked_threads(session.placement)
        picture_state = (session.machine, session.rank_map if up else None, threads, _resting(session, last_run))
        if picture_state != self._drawn:
            self._drawn = picture_state
            sections["machine"] = html.live(machine_card("Ranks on the machine", *picture_state))
        return sections

    def _queue(self, session: SessionRecord, runs: list[RunRecord]) -> dict[str, Any]:
        running, ended = (
            next((run for run in runs if run.status == "running"), None),
            [run for run in runs if run.ended],
        )
        queue = self.store.queue(session.id)
        waits = {run_id: waiting(seconds) for run_id, seconds in expected_wait(queue, running, runs).items()}
        waits |= {run.id: "until the machine is free for measuring" for run in queue if waits_for(session, run)}
        return {
            "running": running
            and _row(running) | {"progress": running.progress, "activity": self._activity.words(running)},
            "waiting": [_row(run) | {"wait": waits[run.id]} for run in queue],
            "empty": EMPTY_QUEUES.get(session.state)
            or (rest_words(session) or "Nobody waits: the next run starts at once."),
            "recent": [_row(run) | {"verdict": (run.verdict or {}).get("verdict", "")} for run in ended[:RECENT]],
        }


def _last_run(session: SessionRecord, runs: list[RunRecord]) -> RunRecord | None:
    """The last run that was taken, where it had the engines that are up."""
    ranks = len((session.rank_map or {}).get("ranks") or [])
    up = _processes(session.rank_map)
    last_run = next((run for run in runs if run.started_at is not None and _processes(run.rank_map) == up), None)
    return last_run if last_run is not None and last_run.placement.get("ranks") == ranks else None


def _processes(rank_map: Mapping[str, Any] | None) -> list[tuple[Any, ...]]:
    """The processes of ranks and their places: a run's map has more threads than the session's."""
    ranks = (rank_map or {}).get("ranks") or []
    return [(report["host"], report["pid"], report["units"]) for report in ranks]


def _resting(session: SessionRecord, last_run: RunRecord | None) -> str:
    """The owners of ranks that compute nothing now."""
    if session.state not in ("ready", "recorded") or not session.rank_map:
        return ""
    if last_run is None:
        return "Nothing runs now; these ranks wait."
    return f"Nothing runs now; run {last_run.id} had these ranks last."


def _facts(session: SessionRecord) -> dict[str, Any]:
    return {
        "name": session.name,
        "state": session.state,
        "words": state_words(session),
        "placement": Placement.parse(session.placement).describe(),
        "limits": (
            f"Learners: up to {words.count(session.limits.ranks, 'rank')}, "
            f"{words.count(session.limits.threads, 'thread')} "
            f"per rank, {session.limits.minutes:g} minutes a run, "
            f"{words.count(session.limits.queued, 'unfinished run')} each."
        ),
    }


def _row(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "workload": workload_title(run.workload),
        "who": who(run),
        "placement": Placement.parse(run.placement).describe(),
        "status": run.status,
        "words": STATUS[run.status],
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }
