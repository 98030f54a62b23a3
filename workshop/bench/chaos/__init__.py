"""Processes of a session are killed, stopped and terminated at random instants of real runs.

`stage` has the plan of what happens, from a seed, the judgement of how runs ended, the `workshop up` to which it
happens, and a search for what was left behind. CI doesn't run it, because it takes an hour.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workshop import bench
from workshop.bench import own_state
from workshop.bench.chaos.stage import ChaosEvent, Stage, plan, stage, true_status
from workshop.core.errors import WorkshopError
from workshop.core.patience import patient
from workshop.store.records import RunRecord

EVENTS = 200
SECONDS = 180.0  # within which a run has ended, on an idle machine
# Short runs: what they compute is not the point. The first takes some 3 s, the second 8 s with TensorFlow's import.
WORKLOADS = {
    "kmeans": {"data": "blobs", "points": 20_000, "clusters": 4, "mode": "online", "batch": 400, "pace": 0.05},
    "mnist": {"data": "digits", "images": 600, "batch": 32, "epochs": 2, "model": "dense", "pace": 0.05},
}
NEXT = {"data": "blobs", "points": 20_000, "clusters": 4, "iterations": 3, "backend": "numpy"}


@dataclass
class EventResult:
    """The result of an event."""

    event: ChaosEvent
    hit: bool  # whether there was such a process
    status: str  # of the run that it met, "" where that could not be told
    true: bool
    next_seconds: float | None  # from the next run's submission to its end, None where it did not complete
    remains: list[str] = field(default_factory=list)
    problem: str = ""  # what was wrong, in words

    @property
    def words(self) -> str:
        """The result in one line."""
        following = f"after {self.next_seconds:.1f} s" if self.next_seconds is not None else "not at all"
        wrong = "".join(
            f"; {remark}" for remark in (self.problem, *(f"left: {what}" for what in self.remains)) if remark
        )
        ended = f"run {self.status}" if self.status else "no run"
        missed = "" if self.hit else " (no such process)"
        return f"{self.event.number}: {self.event.words}{missed}: {ended}, the next worked {following}{wrong}"


def run(
    events: int = EVENTS,
    seed: int = 1,
    progress: bench.Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda sentence: None,
) -> dict[str, object]:
    """Measure, in a state folder of its own; `say` hears of every event. Raises WorkshopError where not even
    `workshop up` comes up."""
    where = bench.machine(["ipyparallel", "openmpi"])
    turns: list[EventResult] = []
    with own_state() as home, stage(home) as up:
        for done, event in enumerate(plan(events, seed, list(WORKLOADS))):
            progress(done, events)
            try:
                turns.append(_turn(up, event))
            except KeyboardInterrupt:
                if turns:
                    break
                raise
            say(turns[-1].words)
            if not up.alive:
                turns[-1].problem += " `workshop up` has ended."
                progress(events, events)
                break
        else:
            progress(events, events)
        ended = up.end()
    return bench.document("chaos", where, rows(turns, ended, seed), ratios(turns, events, ended))


def _turn(up: Stage, event: ChaosEvent) -> EventResult:
    with up.load(event.busy):
        try:
            return _played(up, event)
        except WorkshopError as error:  # nothing answers any longer, which is what the next turns show, too
            return EventResult(event, True, "", False, None, [], str(error))


def _played(up: Stage, event: ChaosEvent) -> EventResult:
    if event.after < 0:  # the session is idle, and takes a run at once: its ranks may just be ending
        hit = running = up.strike(event)
        begun = up.submit(event.workload, WORKLOADS[event.workload])
    else:
        begun = up.submit(event.workload, WORKLOADS[event.workload])
        time.sleep(event.after)
        running = not up.store.run(begun.id).ended
        hit = up.strike(event)
    ended = up.wait(begun, patient(SECONDS))
    began = time.monotonic()
    following = up.wait(up.submit("kmeans", NEXT), patient(SECONDS))
    works = following.status == "completed"
    seconds = time.monotonic() - began if works else None
    true = true_status(event, hit and running, ended.status, ended.error)
    remark = "" if true and works else f"{_words_on(ended)}; the next: {_words_on(following)}"
    return EventResult(event, hit, ended.status, true, seconds, up.remains(), remark)


def _words_on(run: RunRecord) -> str:
    error = run.error or {}
    return f"run {run.id} {run.status} {error.get('type', '')} {error.get('message', '')}".strip()[:300]


def rows(turns: Sequence[EventResult], ended: Sequence[str], seed: int) -> list[dict[str, object]]:
    """The lines of the bench: how soon the next run works, what happened how often, and all that was wrong."""
    seconds = sorted(turn.next_seconds for turn in turns if turn.next_seconds is not None)
    lines: list[dict[str, object]] = []
    if seconds:
        p95 = seconds[min(int(len(seconds) * 0.95), len(seconds) - 1)]
        lines = [
            bench.row("next_run_median_seconds", seconds, "s"),
            {"name": "next_run_p95_seconds", "value": p95, "unit": "s"},
        ]
    for name, events_of_kind in (
        ("events", turns),
        ("events that hit a process", [turn for turn in turns if turn.hit]),
        ("events with all cores taken", [turn for turn in turns if turn.event.busy]),
    ):
        lines.append({"name": name, "value": len(events_of_kind), "unit": "events", "seed": seed})
    for target, action in sorted({(turn.event.target, turn.event.action) for turn in turns}):
        these = [turn for turn in turns if (turn.event.target, turn.event.action) == (target, action) and turn.hit]
        times = [turn.next_seconds for turn in these if turn.next_seconds is not None]
        statuses = {status: sum(turn.status == status for turn in these) for status in {t.status for t in these} - {""}}
        note = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        middle = statistics.median(times) if times else None
        lines.append({"name": f"{action} {target}", "value": middle, "unit": "s", "events": len(these), "runs": note})
    for turn in turns:
        if turn.problem or turn.remains:
            lines.append(bench.missing(f"event {turn.event.number}", "", turn.words))
    if ended:
        lines.append(bench.missing("after the end", "", f"left: {', '.join(ended)}"))
    return lines


def ratios(turns: Sequence[EventResult], events: int, ended: Sequence[str]) -> dict[str, float]:
    """Shares of all planned events; `left_behind` counts what was left for each event."""
    return {
        "true_status": sum(turn.true for turn in turns) / events,
        "next_run_works": sum(turn.next_seconds is not None for turn in turns) / events,
        "left_behind": (sum(len(turn.remains) for turn in turns) + len(ended)) / events,
    }
