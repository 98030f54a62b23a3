"""What a live page shows of one session, as sections for `workshop.web.push`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.placement import Placement
from workshop.store.queue import expected_wait
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.web.cards import as_json
from workshop.web.machine_view import machine_card
from workshop.web.words import STATUS, dumps, state_words, waiting, who

EVERY = 0.5  # seconds between looks
HISTORY = 50  # runs from which expected waits are taken
RECENT = 6  # ended runs that are shown


class SessionLook:
    """Looks at a session; the picture is drawn anew only when ranks have moved."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self.every = EVERY
        self._drawn: object = None

    def __call__(self) -> Mapping[str, str]:
        session = self.store.session(self.name)
        runs = self.store.runs(session_id=session.id, limit=HISTORY)
        sections = {"session": dumps(_facts(session)), "queue": dumps(self._queue(session, runs))}
        up = session.state in ("ready", "running")
        placement = _placement_of(session, runs) if up else session.placement
        drawn = (session.machine, session.rank_map if up else None, placement)
        if drawn != self._drawn:
            self._drawn = drawn
            sections["machine"] = as_json(machine_card("Ranks on the machine", *drawn))
        return sections

    def _queue(self, session: SessionRecord, runs: list[RunRecord]) -> dict[str, Any]:
        running = next((run for run in runs if run.status == "running"), None)
        queue = self.store.queue(session.id)
        waits = expected_wait(queue, running, runs)
        return {
            "running": _row(running) | {"progress": running.progress} if running else None,
            "waiting": [_row(run) | {"wait": waiting(waits[run.id])} for run in queue],
            "recent": [
                _row(run) | {"verdict": (run.verdict or {}).get("verdict", "")}
                for run in [run for run in runs if run.ended][:RECENT]
            ],
        }


def _placement_of(session: SessionRecord, runs: list[RunRecord]) -> Mapping[str, Any]:
    """The placement of the engines that are up: of the last run that was taken, else the session's own."""
    ranks = len((session.rank_map or {}).get("ranks") or [])
    taken = next((run for run in runs if run.started_at is not None and run.rank_map == session.rank_map), None)
    if taken is not None and taken.placement.get("ranks") == ranks:
        return taken.placement
    return session.placement


def _facts(session: SessionRecord) -> dict[str, Any]:
    return {
        "name": session.name,
        "state": session.state,
        "words": state_words(session),
        "placement": Placement.parse(session.placement).describe(),
        "limits": (
            f"Learners: up to {session.limits.ranks} ranks, {session.limits.threads} threads per rank, "
            f"{session.limits.minutes:g} minutes a run, {session.limits.queued} unfinished runs each."
        ),
    }


def _row(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "workload": run.workload,
        "who": who(run),
        "placement": Placement.parse(run.placement).describe(),
        "status": run.status,
        "words": STATUS[run.status],
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }
