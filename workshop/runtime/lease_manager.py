"""The conductor's side of leases: it lends a session's ranks to one holder at a time, and watches them.

Meanwhile it calls nothing on them, and takes no run. When ranks end as they would during a run, they are replaced, and
the lease goes on. Ranks are never used again after a lease.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Protocol

import psutil

from workshop.core import processes
from workshop.core.placement import Placement
from workshop.runtime import memory_policy
from workshop.runtime.engines import EnginesFailed
from workshop.runtime.launchers import site as sites
from workshop.runtime.memory_monitor import MemoryMonitor
from workshop.runtime.run_monitor import MonitoredSession, death
from workshop.store.records import Lease

if TYPE_CHECKING:
    from workshop.store.records import SessionRecord, SessionState

LOOK = 0.2  # seconds between looks, which take processor time from the ranks
SILENT = 10.0  # seconds without a heartbeat after which a holder on another host counts as gone
BEGAN = 2.0  # seconds by which two readings of when a process began may differ: they depend on the clock


class LeasedSession(MonitoredSession, Protocol):
    """The part of a session that the lease manager uses."""

    session: SessionRecord
    memory_limit: int | None

    def say(self, state: SessionState, message: str) -> None:
        """Tell everybody the session's state."""
        ...

    def bring_up(self, placement: Placement, state: SessionState, message: str) -> None:
        """Start new ranks, and tell everybody in which state the session is then."""
        ...


class LeaseManager:
    def __init__(self, conductor: LeasedSession) -> None:
        self._conductor = conductor
        self._holders: dict[int, psutil.Process] = {}  # of leases, on this host
        self._heard: dict[int, tuple[float, float]] = {}  # lease -> its last heartbeat, and when we saw that first
        # Whose holder was told of the ranks that are up: an error of the store may come before that.
        self._told: int | None = None

    def serve(self) -> bool:
        """Lend the ranks to the first holder in the queue, until they are given back. False where the queue is empty.
        Raises SiteLost, and WorkshopError after other faults."""
        conductor = self._conductor
        lease = next((lease for lease in conductor.store.leases(conductor.id) if not self._over(lease)), None)
        if lease is None:
            return False
        try:
            if lease.state == "wanted" and not self._grant(lease):  # else an error of the store came between
                conductor.say("ready", "")
                return True
            self._lend(lease)
        except EnginesFailed as failed:
            conductor.store.end_lease(lease.id, f"new ranks did not start: {failed}")
        if not conductor.ending.is_set():
            conductor.cluster.stop_engines()
            conductor.say("restarting", f"starting new ranks after {lease.holder}")
        return True

    def _grant(self, lease: Lease) -> bool:
        """Give a lease the session's own placement, on unused ranks. False where its holder waits no longer."""
        conductor, engines = self._conductor, self._conductor.cluster.engines
        placement = Placement.parse(conductor.session.placement)
        unused = engines is not None and not engines.used and engines.placement == placement
        if not (unused and conductor.cluster.answers()):
            conductor.say("restarting", f"starting fresh ranks for {lease.holder}")
            conductor.bring_up(placement, "restarting", f"about to lend the ranks to {lease.holder}")
        if not conductor.store.hold_lease(lease.id):
            return False
        conductor.say("leased", _words(lease))
        self._told = lease.id
        return True

    def _lend(self, lease: Lease) -> None:
        """Lend the ranks until the lease or the session ends; ranks that have died are replaced."""
        conductor = self._conductor
        why = self._until_gone(lease) if self._told == lease.id else "the store had not answered"
        while why is not None:
            self._told = None
            conductor.say("restarting", f"{why}; starting new ranks for {lease.holder}")
            conductor.store.tell_lease(lease.id, why)
            conductor.store.clear_reset(conductor.id)
            conductor.bring_up(Placement.parse(conductor.session.placement), "leased", _words(lease))
            self._told = lease.id
            why = self._until_gone(lease)

    def _until_gone(self, lease: Lease) -> str | None:
        """Wait until the ranks have to be replaced, and return the reason; None where the lease or the session ends."""
        conductor, engines = self._conductor, self._conductor.cluster.engines
        if engines is None:
            return "the ranks are gone"
        engines.used = True
        killed = conductor.site.kills()
        with MemoryMonitor(engines.local, conductor.memory_limit) as memory_monitor:
            while not conductor.ending.is_set():
                conductor.watchdog.feed()
                engines.died.wait(LOOK)
                session = conductor.session = conductor.store.session(conductor.id)
                if session.stop_requested:
                    conductor.ending.set()
                elif lost := conductor.lost():
                    raise sites.SiteLost(lost)
                elif self._over(conductor.store.lease(lease.id)):
                    return None
                elif session.reset_requested:
                    return conductor.store.lease(lease.id).why or "the instructor reset the session"
                elif shortage := memory_monitor.found or self._elsewhere():
                    return shortage.words
                elif not conductor.cluster.alive:
                    error = death(conductor, memory_monitor, killed).error or {}
                    if error.get("type") == "SiteLost":  # known only since the look above
                        raise sites.SiteLost(error["message"])
                    return str(error.get("message", "the ranks are gone"))
        return None

    def _elsewhere(self) -> memory_policy.Shortage | None:
        channel = self._conductor.channel
        return memory_policy.elsewhere(dict(channel.hosts), socket.gethostname())

    def _over(self, lease: Lease) -> bool:
        """Whether a lease has ended; a lease whose holder is gone ends here."""
        if lease.state != "ended" and self._gone(lease):
            self._conductor.store.end_lease(lease.id, f"{lease.holder} was gone")
            return True
        return lease.state == "ended"

    def _gone(self, lease: Lease) -> bool:
        """Whether the process that wants or holds a lease has ended."""
        if lease.host == socket.gethostname():
            try:
                holder = self._holders.get(lease.id)
                if holder is None:
                    holder = psutil.Process(lease.pid)
                    if abs(holder.create_time() - lease.pid_began_at) > BEGAN:
                        return True
                    # From now on it is known without the wall clock, which somebody may set.
                    self._holders[lease.id] = holder
                return not processes.alive(holder)
            except psutil.NoSuchProcess:
                return True
        # By our clock alone: another host's may be wrong.
        beat, last_beat = self._heard.get(lease.id, (0.0, 0.0))
        if beat != lease.heartbeat_at:
            last_beat = time.monotonic()
            self._heard[lease.id] = lease.heartbeat_at, last_beat
        return time.monotonic() - last_beat > SILENT


def _words(lease: Lease) -> str:
    return f"{lease.holder} has the ranks"
