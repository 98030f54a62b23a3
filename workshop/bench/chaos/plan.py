"""The events of a chaos bench, drawn from a seed, and the ends of a run that are right then."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TARGETS = ("rank", "stub", "server", "launcher", "controller", "conductor", "dashboard")
ACTIONS = ("kill", "stop", "terminate")
IDLE = 0.2  # share of events that happen just before a run
LATEST = {"kmeans": 5.0, "mnist": 14.0}  # seconds after the submission: a bit longer than a run takes
SHORTEST, LONGEST = 0.5, 20.0  # seconds for which a process is stopped
# How runs end that lost a process, by what they say of it.
LOST = (
    "RankDied",
    "EnginesDied",
    "RanksNotStarted",
    "RankServerDied",
    "ControllerDied",
    "RankSilent",
    "ConductorSilent",
    "EngineError",
)


@dataclass(frozen=True)
class ChaosEvent:
    """One event: a target, an action and a time."""

    number: int
    target: str
    action: str
    workload: str
    after: float  # seconds from a run's submission; below 0: just before it
    seconds: float  # for which a process is stopped
    busy: bool  # whether all cores are taken meanwhile
    choice: float  # which of several processes: a share of them

    @property
    def words(self) -> str:
        how = f"stop of {self.seconds:.0f} s" if self.action == "stop" else self.action
        when = f"{self.after:.1f} s into {self.workload}" if self.after >= 0 else f"just before {self.workload}"
        return f"{how} of a {self.target}, {when}{', cores taken' if self.busy else ''}"


def plan(count: int, seed: int, workloads: Sequence[str]) -> list[ChaosEvent]:
    """So many events; the same ones for the same seed. Every target meets every action about equally often."""
    stream = random.Random(seed)
    pairs = [(target, action) for target in TARGETS for action in ACTIONS]
    events: list[ChaosEvent] = []
    while len(events) < count:
        stream.shuffle(pairs)
        for target, action in pairs[: count - len(events)]:
            workload = stream.choice(list(workloads))
            after = stream.uniform(0, LATEST[workload]) if stream.random() > IDLE else -1.0
            events.append(
                ChaosEvent(
                    number=len(events) + 1,
                    target=target,
                    action=action,
                    workload=workload,
                    after=after,
                    seconds=stream.uniform(SHORTEST, LONGEST),
                    busy=stream.random() < 0.5,
                    choice=stream.random(),
                )
            )
    return events


def true_status(event: ChaosEvent, hit: bool, status: str, error: Mapping[str, Any] | None) -> bool:
    """Whether a run can have ended like that: `hit` says whether the event met it while it had not ended."""
    if status == "completed":
        return error is None
    error_or_empty = error or {}
    if not hit or event.target == "dashboard" or not error_or_empty.get("message"):
        return False
    if status == "interrupted":
        return event.target == "conductor"
    return status == "failed" and error_or_empty.get("type") in LOST
