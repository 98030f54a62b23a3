"""Watching one run until it has ended: finished, failed, cancelled, over a limit, or without its ranks."""

from __future__ import annotations

import queue
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workshop.core import processes, rank_map
from workshop.core.errors import OUT_OF_MEMORY
from workshop.core.patience import patient
from workshop.engine.reporter import EXIT_ORPHANED, SILENCE
from workshop.runtime import memory_policy, silence
from workshop.runtime.memory_monitor import Lookout
from workshop.runtime.memory_policy import Shortage
from workshop.store.records import RunRecord, RunStatus

if TYPE_CHECKING:
    from workshop.runtime.conductor import Conductor

LOOK = 0.1  # seconds between looks at the ranks
ASK = 0.3  # seconds between looks for a reason to end, which take processor time from the ranks
GRACE = 2.0  # seconds that the other ranks get to end by themselves after one has failed
CANCEL = 5.0  # seconds that ranks get to end after a stop request, before their engines are ended


@dataclass
class Outcome:
    """How a run ended."""

    status: RunStatus
    metrics: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    reusable: bool = True  # whether the engines are fit for another run

    @property
    def unexplained(self) -> bool:
        """Whether the launcher of the ranks has ended, and no rank before it."""
        return self.error is not None and self.error["type"] == "EnginesDied"


def problem(
    type_: str, message: str, rank: int | None = None, host: str | None = None, trace: str = ""
) -> dict[str, Any]:
    return {"rank": rank, "host": host, "type": type_, "message": message, "traceback": trace}


def _out_of_memory(found: Shortage) -> Outcome:
    return Outcome("failed", error=problem(OUT_OF_MEMORY, found.words, found.rank, found.host), reusable=False)


class Watch:
    """Watches one run until it has ended, whichever way."""

    def __init__(self, conductor: Conductor, run: RunRecord, ranks: int, result: Any, lookout: Lookout) -> None:
        self.conductor = conductor
        self.run = run
        self.ranks = ranks
        self.result = result
        self.lookout = lookout
        self.killed = conductor.site.kills()
        self.silence = silence.Silence()
        self.finished: dict[int, dict[str, Any]] = {}
        self.failed: dict[int, dict[str, Any]] = {}
        self.started = self.asked = time.monotonic()
        self.deadline: float | None = None  # for those who have not ended yet
        self.because: Outcome | None = None  # why we asked them to end

    def until_ended(self) -> Outcome:
        while True:
            self.conductor.watchdog.feed()
            self._hear()
            outcome = self._ended()
            if outcome is not None:
                break
            if self.deadline is None and time.monotonic() - self.asked > ASK:
                self.asked = time.monotonic()
                self._ask_to_end()
        threads = {rank: body["threads"] for rank, body in (self.finished | self.failed).items()}
        engines = self.conductor.cluster.engines
        if engines is not None:
            self.conductor.store.set_run(self.run.id, rank_map=rank_map.with_threads(engines.rank_map, threads))
        return outcome

    def _hear(self) -> None:
        """Take in what ranks said; wait a moment if they said nothing."""
        wait = LOOK
        while True:
            try:
                word = self.conductor.channel.words.get(timeout=wait)
            except queue.Empty:
                return
            wait = 0.0
            if word.run != self.run.id:
                continue
            known = self.finished if word.kind == "finished" else self.failed
            known.setdefault(word.rank, word.body)
            if word.kind == "failed" and self.deadline is None:
                self.deadline = time.monotonic() + GRACE

    def _ended(self) -> Outcome | None:
        """The outcome, once there is one."""
        cluster = self.conductor.cluster
        if len(self.finished) + len(self.failed) == self.ranks:
            return self._last_words()
        if self.lookout.found:
            return _out_of_memory(self.lookout.found)
        if not cluster.alive:
            return self._last_words() if self.failed else death(self.conductor, self.lookout, self.killed)
        engines = cluster.engines
        lost = engines is not None and engines.lost
        if lost or (self.result.ready() and not self.result.successful()):
            # The kernel and the controller know of a rank's death before the launcher has said so. The launcher never
            # says so while the process is stopped from which the rank was forked.
            if (engines is not None and engines.died.wait(patient(GRACE))) or lost:
                return self._last_words() if self.failed else death(self.conductor, self.lookout, self.killed)
            # The engine itself gave up, for instance because the conductor could not store what it said.
            failure = problem("EngineError", str(self.result.exception() or "a rank gave up without a word"))
            return Outcome("failed", error=failure, reusable=False)
        if self.deadline is not None and time.monotonic() > self.deadline:
            outcome = self._last_words()
            outcome.reusable = False  # some ranks are stuck in a collective that nobody else will join
            return outcome
        return None

    def _last_words(self) -> Outcome:
        """Whoever failed first decides; nobody failed: the run did what it should, or stopped as it was asked."""
        if self.failed:
            rank, body = next(iter(self.failed.items()))
            failure = problem(body["type"], body["message"], rank, body["host"], body["traceback"])
            return Outcome("failed", error=failure, reusable=False)
        metrics = self.finished.get(0, {}).get("metrics", {})
        if self.because is not None:
            self.because.metrics = metrics
            return self.because
        return Outcome("completed", metrics=metrics)

    def _ask_to_end(self) -> None:
        """Look for a reason to end the run early, and ask the ranks to."""
        conductor, run = self.conductor, self.run
        session = conductor.store.session(conductor.id)
        minutes, limited = session.limits.minutes, session.limits.everybody or run.identity_id is not None
        if conductor.store.run(run.id).cancel_requested:
            because = Outcome("cancelled")
        elif conductor.ending.is_set() or session.stop_requested:
            conductor.ending.set()
            because = stopped(conductor)
        elif lost := conductor.lost():
            because = Outcome("failed", error=problem("SiteLost", lost), reusable=False)
        elif session.reset_requested:
            because = Outcome("cancelled", error=problem("SessionReset", "the instructor reset the session"))
        elif limited and time.monotonic() - self.started > minutes * 60:
            words = f"the run took longer than the {minutes:g} minutes that this session allows"
            because = Outcome("failed", error=problem("TimeLimit", words))
        elif short := memory_policy.elsewhere(dict(conductor.channel.hosts), socket.gethostname()):
            because = _out_of_memory(short)
        elif silent := self._silent():
            because = silent
        else:
            return
        self.because = because
        hopeless = because.error is not None and because.error["type"] in (OUT_OF_MEMORY, "SiteLost", "RankSilent")
        self.deadline = time.monotonic() + (0.0 if hopeless else CANCEL)
        conductor.channel.stop(run.id)

    def _silent(self) -> Outcome | None:
        """What becomes of a run one of whose ranks is not heard of any longer."""
        engines = self.conductor.cluster.engines
        if engines is None:
            return None
        local, hosts = engines.local, {report["rank"]: report["host"] for report in engines.rank_map["ranks"]}
        heard = {rank: last for rank, last in dict(self.conductor.channel.heard).items() if rank in hosts}
        rank = self.silence.look(heard, lambda rank: processes.is_stopped(local.get(rank)))
        if rank is None:
            return None
        words = silence.words(rank, hosts[rank], local.get(rank))
        return Outcome("failed", error=problem("RankSilent", words, rank, hosts[rank]), reusable=False)


def stopped(conductor: Conductor) -> Outcome:
    """Of a run that ends, or doesn't begin, because its session ends."""
    if conductor.asked:
        return Outcome(
            "cancelled", error=problem("SessionStopped", "the session was stopped during the run"), reusable=False
        )
    words = "the session's conductor was terminated during the run"
    return Outcome("interrupted", error=problem("ConductorTerminated", words), reusable=False)


def death(conductor: Conductor, lookout: Lookout, killed: int) -> Outcome:
    """Of what a conductor's ranks have died. `killed` is what `Site.kills` said before."""
    engines = conductor.cluster.engines
    died = engines.death() if engines is not None else None
    here = died is None or died.host == socket.gethostname()
    by_force = died is None or died.signal == signal.SIGKILL
    if here and by_force and (found := lookout.killed(died.rank if died else None)):
        return _out_of_memory(found)
    if not conductor.cluster.controller_alive:
        failure = problem("ControllerDied", "the session's controller died")
        return Outcome("failed", error=failure, reusable=False)
    if lost := conductor.lost():
        return Outcome("failed", error=problem("SiteLost", lost), reusable=False)
    assert engines is not None, "whoever watches ranks has some"
    if engines.parent is not None and not processes.alive(engines.parent):
        message = f"process {engines.parent.pid}, from which the ranks are forked, has ended, and the ranks with it"
        return Outcome("failed", error=problem("RankServerDied", message), reusable=False)
    if died is not None and by_force and not here and conductor.site.kills() > killed:
        return _out_of_memory(memory_policy.killed(died.host, died.rank, {}))
    if died is None and (left := engines.mpi.left(engines.output)):
        rank, code = left
        if code == EXIT_ORPHANED:
            words = f"rank {rank} had heard nothing of its session's conductor for {SILENCE:.0f} s, and ended itself"
            return Outcome("failed", error=problem("ConductorSilent", words, rank), reusable=False)
        return Outcome(
            "failed", error=problem("RankDied", f"rank {rank} ended with exit code {code}", rank), reusable=False
        )
    if died is None:
        message = f"the launcher of {engines.mpi.NAME} {engines.how()}"
        return Outcome("failed", error=problem("EnginesDied", message), reusable=False)
    if died.signal == signal.SIGABRT and "std::bad_alloc" in engines.output:
        return _out_of_memory(memory_policy.refused(died.rank, died.host, engines.placement.ranks))
    name = signal.Signals(died.signal).name if died.signal in signal.valid_signals() else f"signal {died.signal}"
    who = "a rank" if died.rank is None else f"rank {died.rank}"
    pid = died.pid or engines.local.get(-1 if died.rank is None else died.rank, 0)  # Open MPI may say 0
    message = f"{who} ({f'process {pid} ' if pid else ''}on {died.host}) was ended by {name}"
    return Outcome("failed", error=problem("RankDied", message, died.rank, died.host), reusable=False)
