"""Watching one run until it has ended: finished, failed, cancelled, over a limit, or without its ranks."""

from __future__ import annotations

import faulthandler
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from workshop.core import disk, processes, rank_map
from workshop.core.errors import OUT_OF_MEMORY
from workshop.core.patience import patient
from workshop.core.processes import is_stopped
from workshop.engine.reporter import EXIT_ORPHANED, SILENCE
from workshop.sessions import memory_monitor as sessions_memory_monitor
from workshop.sessions.memory_monitor import MemoryMonitor, Shortage
from workshop.store.records import RunRecord, RunStatus

if TYPE_CHECKING:
    from workshop.sessions.channel import Channel
    from workshop.sessions.cluster import Cluster
    from workshop.store.store import Store

SILENT = 30.0  # seconds of an idle machine; a rank that loads a library on a busy one can be deaf for long
HOPELESS = (OUT_OF_MEMORY, disk.NO_ROOM, "SiteLost", "RankSilent")  # errors after which ranks get no time to end
STUCK = 900.0  # seconds, also of a busy machine; bringing ranks up takes longest, and has limits of its own
GAP = 1.0  # seconds between two looks that count, at most


def alive() -> None:
    """Told by a conductor's main thread now and then. One that is stuck ends itself, and its log has what its threads
    were doing; its session then reads as lost, and `workshop up` starts another conductor."""
    faulthandler.dump_traceback_later(STUCK, exit=True)


class Silence:
    """Watches the ranks of one run, which begins now, for silence."""

    def __init__(self) -> None:
        self._looked: float | None = None
        self._heard: dict[int, float] = {}
        self._silent: dict[int, float] = {}

    def look(
        self, last_words_at: Mapping[int, float], is_stopped: Callable[[int], bool], now: float | None = None
    ) -> int | None:
        """The rank that has been silent for too long, or None; to be asked several times a second.

        `last_words_at`: when each rank was last heard of, `now`: the time, both on the monotonic clock. A rank that
        `is_stopped` is not waited for any longer because the machine is busy."""
        now = time.monotonic() if now is None else now
        spent = min(now - self._looked, GAP) if self._looked is not None else 0.0
        self._looked = now
        for rank, last in last_words_at.items():
            unchanged = self._heard.get(rank) == last
            self._heard[rank] = last
            self._silent[rank] = self._silent.get(rank, 0.0) + spent if unchanged else 0.0
        if not self._silent:
            return None
        most = max(self._silent, key=self._silent.__getitem__)
        if self._silent[most] <= SILENT:
            return None
        return most if is_stopped(most) or self._silent[most] > patient(SILENT) else None


def silence_words(rank: int, host: str, pid: int | None) -> str:
    """The sentence on a silent rank, without its full stop; `pid` is its process, where that is here."""
    who = f"rank {rank} ({f'process {pid} ' if pid else ''}on {host})"
    if is_stopped(pid):
        return f"{who} was stopped by a signal (SIGSTOP), and has not gone on within {SILENT:.0f} s"
    return f"{who} has not been heard of for {patient(SILENT):.0f} s"


# Looks take processor time from the ranks. A rank's last word wakes the monitor at once.
LOOK = 0.5  # seconds between looks at the ranks
ASK = 1.0  # seconds between looks for a reason to end
GRACE = 2.0  # seconds that the other ranks get to end by themselves after one has failed
CANCEL = 5.0  # seconds that ranks get to end after a stop request, before their engines are ended


class MonitoredSession(Protocol):
    """The part of a session that the run monitor uses."""

    id: int
    store: Store
    channel: Channel
    cluster: Cluster
    ending: threading.Event

    @property
    def stop_requested(self) -> bool:
        """Whether a session that ends was meant to."""

    def full(self) -> str:
        """Why nothing can be written any longer, in one sentence; "" while there is room."""

    def lost(self) -> str | None:
        """Why ranks can't run at the session's site any longer, in one sentence; None while they can."""


@dataclass
class RunOutcome:
    """How a run ended."""

    status: RunStatus
    metrics: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    reusable: bool = True  # whether the engines are fit for another run

    @property
    def lost_rank(self) -> bool:
        """Whether the run has failed because a rank has died."""
        return self.error is not None and self.error["type"] == "RankDied"

    @property
    def unexplained(self) -> bool:
        """Whether the launcher of the ranks has ended, and no rank before it."""
        return self.error is not None and self.error["type"] == "EnginesDied"


def problem(
    type_: str, message: str, rank: int | None = None, host: str | None = None, trace: str = ""
) -> dict[str, Any]:
    return {"rank": rank, "host": host, "type": type_, "message": message, "traceback": trace}


def _out_of_memory(shortage: Shortage) -> RunOutcome:
    return RunOutcome(
        "failed", error=problem(OUT_OF_MEMORY, shortage.words, shortage.rank, shortage.host), reusable=False
    )


class RunMonitor:
    """Watches one run until it has ended in any way."""

    def __init__(
        self, session: MonitoredSession, run: RunRecord, ranks: int, result: Any, memory_monitor: MemoryMonitor
    ) -> None:
        self.session = session
        self.run = run
        self.ranks = ranks
        self.result = result
        self.memory_monitor = memory_monitor
        self.silence = Silence()
        engines = session.cluster.engines
        self.tolerant = engines is not None and engines.tolerant
        self.members = set(range(ranks))  # that go on, as they have told
        self.joined: set[int] = set()  # new ranks that have taken the place of lost ones
        self.kills = 0  # requests that were passed on
        self.finished: dict[int, dict[str, Any]] = {}
        self.failed: dict[int, dict[str, Any]] = {}
        self.started = self.asked_at = time.monotonic()
        self.deadline: float | None = None  # for those who have not ended yet
        self.because: RunOutcome | None = None  # why we asked them to end

    def until_ended(self) -> RunOutcome:
        while True:
            alive()
            self._hear()
            outcome = self._ended()
            if outcome is not None:
                break
            if self.deadline is None and time.monotonic() - self.asked_at > ASK:
                self.asked_at = time.monotonic()
                self._ask_to_end()
        later: dict[int, dict[str, Any]] = {
            rank: {name: body[name] for name in ("threads", "core") if name in body}
            for rank, body in (self.finished | self.failed).items()
        }
        engines = self.session.cluster.engines
        if engines is not None:
            self.session.store.set_run(self.run.id, rank_map=rank_map.with_later(engines.rank_map, later))
        return outcome

    def _hear(self) -> None:
        """Read the ranks' messages; wait a moment where there are none."""
        wait = LOOK
        while True:
            try:
                word = self.session.channel.words.get(timeout=wait)
            except queue.Empty:
                return
            wait = 0.0
            if word.run != self.run.id:
                continue
            if word.kind == "members":
                members = set(word.body["ranks"])
                self.joined = (self.joined & members) | (members - self.members)
                self.members = members
                continue
            last_words = self.finished if word.kind == "finished" else self.failed
            last_words.setdefault(word.rank, word.body)
            if word.kind == "failed" and self.deadline is None:
                self.deadline = time.monotonic() + GRACE

    def _ended(self) -> RunOutcome | None:
        """The outcome, once there is one."""
        cluster = self.session.cluster
        expected = self._expected()
        if expected and expected <= self.finished.keys() | self.failed.keys():
            return self._last_words()
        if self.memory_monitor.found:
            return _out_of_memory(self.memory_monitor.found)
        if not cluster.alive:
            return self._last_words() if self.failed else death(self.session, self.memory_monitor)
        engines = cluster.engines
        lost = engines is not None and engines.lost
        if self.tolerant and expected:
            if self.result.ready() and self.deadline is None:
                self.deadline = time.monotonic() + patient(GRACE)  # for the last words that are under way
        elif lost or (self.result.ready() and not self.result.successful()):
            # The kernel and the controller know of a rank's death before the launcher has said so. The launcher never
            # says so while the process is stopped from which the rank was forked.
            if (engines is not None and engines.died.wait(patient(GRACE))) or lost:
                return self._last_words() if self.failed else death(self.session, self.memory_monitor)
            # The engine itself gave up, for instance because the conductor could not store what it said.
            failure = problem("EngineError", str(self.result.exception() or "a rank gave up without a word"))
            return RunOutcome("failed", error=failure, reusable=False)
        if self.deadline is not None and time.monotonic() > self.deadline:
            outcome = self._last_words()
            if outcome.status == "completed":  # a rank of a tolerant run has not told its end
                failure = problem("EngineError", "a rank gave up without a word")
                outcome = RunOutcome("failed", error=failure)
            outcome.reusable = False  # some ranks are stuck in a collective that nobody else will join
            return outcome
        return None

    def _expected(self) -> set[int]:
        """The ranks whose last word is still missing: all, without the lost ranks of a tolerant run."""
        engines = self.session.cluster.engines
        gone = engines.gone().keys() - self.joined if self.tolerant and engines is not None else set()
        return self.members - gone

    def _last_words(self) -> RunOutcome:
        """The outcome from the ranks' last words. The first failure decides; without one, the run has completed, or
        stopped as it was asked."""
        if self.failed:
            rank, body = next(iter(self.failed.items()))
            failure = problem(body["type"], body["message"], rank, body["host"], body["traceback"])
            return RunOutcome("failed", error=failure, reusable=False)
        # Rank 0 has them, or the rank that has taken its place.
        metrics: dict[str, Any] = next(
            (body["metrics"] for _, body in sorted(self.finished.items()) if body.get("metrics")), {}
        )
        reusable = len(self.finished) == self.ranks and not self.joined
        if self.because is not None:
            self.because.metrics = metrics
            return self.because
        return RunOutcome("completed", metrics=metrics, reusable=reusable)

    def _ask_to_end(self) -> None:
        """Look for a reason to end the run early, and ask the ranks to."""
        session, run = self.session, self.run
        record, wishes = session.store.session(session.id), session.store.run(run.id)
        for rank in (wishes.kill_requested or [])[self.kills :]:
            session.channel.kill(run.id, rank)
            self.kills += 1
        minutes, limited = record.limits.minutes, record.limits.everybody or run.identity_id is not None
        if wishes.cancel_requested:
            because = RunOutcome("cancelled")
        elif session.ending.is_set() or record.stop_requested:
            session.ending.set()
            because = stopped(session)
        elif not self.tolerant and (lost := session.lost()):
            because = RunOutcome("failed", error=problem("SiteLost", lost), reusable=False)
        elif full := session.full():
            because = RunOutcome("failed", error=problem(disk.NO_ROOM, full), reusable=False)
        elif record.reset_requested:
            because = RunOutcome("cancelled", error=problem("SessionReset", "the instructor reset the session"))
        elif limited and time.monotonic() - self.started > minutes * 60:
            words = f"the run took longer than the {minutes:g} minutes that this session allows"
            because = RunOutcome("failed", error=problem("TimeLimit", words))
        elif short := sessions_memory_monitor.elsewhere(dict(session.channel.hosts), socket.gethostname()):
            because = _out_of_memory(short)
        elif silent := self._silent():
            because = silent
        else:
            return
        self.because = because
        hopeless = because.error is not None and because.error["type"] in HOPELESS
        self.deadline = time.monotonic() + (0.0 if hopeless else CANCEL)
        session.channel.stop(run.id)

    def _silent(self) -> RunOutcome | None:
        """The outcome of a run with a silent rank."""
        engines = self.session.cluster.engines
        if engines is None:
            return None
        local, hosts = engines.local, {report["rank"]: report["host"] for report in engines.rank_map["ranks"]}
        times, expected = dict(self.session.channel.last_heard), self._expected()
        last_heard = {rank: last for rank, last in times.items() if rank in hosts and rank in expected}
        rank = self.silence.look(last_heard, lambda rank: processes.is_stopped(local.get(rank)))
        if rank is None:
            return None
        words = silence_words(rank, hosts[rank], local.get(rank))
        return RunOutcome("failed", error=problem("RankSilent", words, rank, hosts[rank]), reusable=False)


def stopped(session: MonitoredSession) -> RunOutcome:
    """The outcome of a run that ends, or doesn't begin, because its session ends."""
    if session.stop_requested:
        return RunOutcome(
            "cancelled", error=problem("SessionStopped", "the session was stopped during the run"), reusable=False
        )
    words = "the session's conductor was terminated during the run"
    return RunOutcome("interrupted", error=problem("ConductorTerminated", words), reusable=False)


def death(session: MonitoredSession, memory_monitor: MemoryMonitor) -> RunOutcome:
    """The cause of the death of a session's ranks."""
    engines = session.cluster.engines
    died = engines.death() if engines is not None else None
    here = died is None or died.host == socket.gethostname()
    by_force = died is None or died.signal == signal.SIGKILL
    if here and by_force and (shortage := memory_monitor.killed(died.rank if died else None)):
        return _out_of_memory(shortage)
    if not session.cluster.controller_alive:
        failure = problem("ControllerDied", "the session's controller died")
        return RunOutcome("failed", error=failure, reusable=False)
    if lost := session.lost():
        return RunOutcome("failed", error=problem("SiteLost", lost), reusable=False)
    assert engines is not None, "whoever watches ranks has some"
    if engines.parent is not None and not processes.alive(engines.parent):
        message = f"process {engines.parent.pid}, from which the ranks are forked, has ended, and the ranks with it"
        return RunOutcome("failed", error=problem("RankServerDied", message), reusable=False)
    if died is None and (ending := engines.mpi.early_exit(engines.output)):
        rank, code = ending
        if code == EXIT_ORPHANED:
            words = f"rank {rank} had heard nothing of its session's conductor for {SILENCE:.0f} s, and ended itself"
            return RunOutcome("failed", error=problem("ConductorSilent", words, rank), reusable=False)
        return RunOutcome(
            "failed", error=problem("RankDied", f"rank {rank} ended with exit code {code}", rank), reusable=False
        )
    if died is None:
        message = f"the launcher of {engines.title} {engines.how()}"
        return RunOutcome("failed", error=problem("EnginesDied", message), reusable=False)
    if died.signal == signal.SIGABRT and "std::bad_alloc" in engines.output:
        return _out_of_memory(sessions_memory_monitor.refused(died.rank, died.host, engines.placement.ranks))
    name = signal.Signals(died.signal).name if died.signal in signal.valid_signals() else f"signal {died.signal}"
    who = "a rank" if died.rank is None else f"rank {died.rank}"
    pid = died.pid or engines.local.get(-1 if died.rank is None else died.rank, 0)  # Open MPI may say 0
    message = f"{who} ({f'process {pid} ' if pid else ''}on {died.host}) was ended by {name}"
    return RunOutcome("failed", error=problem("RankDied", message, died.rank, died.host), reusable=False)
