"""What a live page shows of one session, as sections for `workshop.server.push`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words as say
from workshop.core.placement import Placement
from workshop.report import html
from workshop.report.analysis.oversubscription import asked_threads, threads_of
from workshop.report.machine_picture import machine_card
from workshop.report.sentences import STATUS, dumps, state_words, waiting, who
from workshop.store.queue import expected_wait
from workshop.store.records import Lease, RunRecord, SessionRecord
from workshop.store.store import Store

EVERY = 0.5  # seconds between looks
HISTORY = 50  # runs from which expected waits are taken
RECENT = 6  # ended runs that are shown
EMPTY = "Nobody waits: the next run starts at once."
EMPTY_RECORDED = "Nobody waits: this is a recording."
EMPTY_LEASED = "Nobody waits: the next run starts when the ranks are given back."


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
        leases = self.store.leases(session.id)
        sections = {"session": dumps(_facts(session, leases)), "queue": dumps(self._queue(session, runs, leases))}
        up = session.state in ("ready", "running", "leased", "recorded")
        taken = _taken(session, runs) if up else None
        threads = threads_of(taken) if taken else asked_threads(session.placement)
        drawn = (session.machine, session.rank_map if up else None, threads, _resting(session, taken))
        if drawn != self._drawn:
            self._drawn = drawn
            sections["machine"] = html.live(machine_card("Ranks on the machine", *drawn))
        return sections

    def _queue(self, session: SessionRecord, runs: list[RunRecord], leases: list[Lease]) -> dict[str, Any]:
        running = next((run for run in runs if run.status == "running"), None)
        queue = self.store.queue(session.id)
        waits = {run_id: waiting(seconds) for run_id, seconds in expected_wait(queue, running, runs).items()}
        if leases:
            waits = dict.fromkeys(waits, f"after {leases[0].holder}")
        return {
            "running": _row(running) | {"progress": running.progress} if running else None,
            "waiting": [_row(run) | {"wait": waits[run.id]} for run in queue],
            "empty": EMPTY_RECORDED if session.state == "recorded" else EMPTY_LEASED if leases else EMPTY,
            "recent": [
                _row(run) | {"verdict": (run.verdict or {}).get("verdict", "")}
                for run in [run for run in runs if run.ended][:RECENT]
            ],
        }


def _taken(session: SessionRecord, runs: list[RunRecord]) -> RunRecord | None:
    """The last run that was taken, where it had the engines that are up."""
    ranks = len((session.rank_map or {}).get("ranks") or [])
    taken = next((run for run in runs if run.started_at is not None and run.rank_map == session.rank_map), None)
    return taken if taken is not None and taken.placement.get("ranks") == ranks else None


def _resting(session: SessionRecord, taken: RunRecord | None) -> str:
    """The owners of ranks that compute nothing now."""
    if session.state not in ("ready", "recorded") or not session.rank_map:
        return ""
    return f"Nothing runs now; run {taken.id} had these ranks last." if taken else "Nothing runs now; these ranks wait."


def _facts(session: SessionRecord, leases: list[Lease]) -> dict[str, Any]:
    wanted = [lease.holder for lease in leases if lease.state == "wanted"]
    return {
        "name": session.name,
        "state": session.state,
        "words": state_words(session),
        "wanted": f"The ranks are wanted next by {', '.join(wanted)}." if wanted else "",
        "placement": Placement.parse(session.placement).describe(),
        "limits": (
            f"Learners: up to {say.count(session.limits.ranks, 'rank')}, {say.count(session.limits.threads, 'thread')} "
            f"per rank, {session.limits.minutes:g} minutes a run, "
            f"{say.count(session.limits.queued, 'unfinished run')} each."
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
