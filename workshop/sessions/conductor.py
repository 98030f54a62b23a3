"""The conductor: one process per session that owns its cluster and takes its runs in order.

Run as `python -m workshop.sessions.conductor SESSION_ID [--owner PID] [--until-idle] [--cells]`. It reconciles: the
cluster that a run's placement needs is started before the run, broken parts are replaced, and every event is written to
the store, where everybody else reads it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from workshop.core import config, disk, environment, memory, processes, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.core.words import capital, count
from workshop.engine import host as engine
from workshop.engine.reporter import LIFE
from workshop.mpi import REFUSES
from workshop.registry import workload, workload_title
from workshop.report.verdict import verdict
from workshop.sessions.channel import Channel
from workshop.sessions.cluster import Cluster
from workshop.sessions.engines import EnginesFailed
from workshop.sessions.launchers import site as sites
from workshop.sessions.lifecycle import END, cancel_queue, end_left
from workshop.sessions.measurement_lock import holder, machine_held, waiting
from workshop.sessions.memory_monitor import MemoryMonitor
from workshop.sessions.run_monitor import RunMonitor, RunOutcome, alive, death, problem, stopped
from workshop.store.records import RunRecord, SessionState
from workshop.store.store import Store

LOOK = 0.1  # seconds between questions whether the store has changed
REST = 1.0  # seconds after which the session looks around in any case
HEARTBEAT = 1.0  # seconds
NEW_RANKS = "The ranks that were up ended before the run had begun; it was started again, on new ones."
TRIES = 3  # failures in a row, PAUSE seconds apart, after which a session gives up
PAUSE = 2.0
CELLS = 0.2  # seconds between looks at the ranks of cells, which take processor time from them
OUTPUT = 8_000  # characters of the output of ranks that died, which the log keeps
AHEAD = 5.0  # seconds without a run after which what training needs is imported, for whoever comes
MEMORY_GROWTH = 2 << 30  # bytes by which a rank may grow before equal placements get new engines
MEMORY_KEPT = 0.1  # share of the memory that all ranks together may keep of earlier runs before that


class Conductor:
    def __init__(self, session_id: int, owner: int | None, until_idle: bool = False, cells: bool = False) -> None:
        self.id = session_id
        self.owner = psutil.Process(owner) if owner else None
        self.until_idle = until_idle  # whether the session ends as soon as no run waits
        self.cells = cells  # whether a notebook calls its cells on the ranks, which then take no run
        self.folder = config.session_folder(session_id)
        self.reserve = disk.Reserve(self.folder)
        self.store = Store.open()
        self.changes = self.store.database.changes()
        self.session = self.store.session(session_id)
        self.machine = topology.machine()
        self.memory_limit = config.memory_limit()
        self.ending = threading.Event()
        self.terminated = False  # by a signal that isn't ours
        self.silent = threading.Event()  # there are no more heartbeats
        self.site = sites.open_site(self.session.site, self.folder, Placement.parse(self.session.placement))
        self.channel: Channel  # both from when the site is prepared
        self.cluster: Cluster
        self._waits = ""  # what the session has said of a run that waits for the machine
        self._busy = math.inf  # when this session had anything to do last, on the monotonic clock
        self._baseline: dict[int, int] = {}  # resident bytes of each rank after its first run

    def log(self, text: str) -> None:
        with contextlib.suppress(OSError):  # a full disk keeps nobody from going on
            print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)

    # The life of a session.

    def live(self) -> None:
        """Bring the session up, take runs until somebody asks for an end, and leave nothing behind."""
        signal.signal(signal.SIGTERM, lambda *_: self._terminated())
        for number in (signal.SIGINT, END):
            signal.signal(number, lambda *_: self.ending.set())
        # What a conductor before us left: its engines end themselves, but not before we would want theirs.
        end_left(self.store, self.session)
        tag = processes.session_tag(self.id)
        self.say("starting", "starting the controller and the ranks", conductor_pid=os.getpid(), machine=self.machine)
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        state: SessionState = "stopped"
        message = ""
        with contextlib.ExitStack() as stack:
            stack.callback(processes.end_all, processes.TAG, tag)
            stack.callback(self.site.close)
            stack.callback(self.reserve.release)
            try:
                self.reserve.fill()
                self._settle(stack)
                self.bring_up(Placement.parse(self.session.placement))
                self._take_runs()
                if self.stop_requested:
                    cancel_queue(self.store, self.id)
            except Exception as error:
                if not self.ending.is_set():  # otherwise whatever was under way was given up
                    self.log(traceback.format_exc())
                    state = "failed"
                    message = str(error) if isinstance(error, WorkshopError) else f"{type(error).__name__}: {error}"
        self.silent.set()
        if self.stop_requested:
            self.log(f"{state} {message}")
            self.store.update_session(
                self.id, state=state, message=message
            )  # the very last word: who reads it may start it again
        else:  # it reads lost, as after a kill, and its queue goes on with the next conductor
            self.log("terminated")
            self.store.update_session(self.id, heartbeat_at=0.0, message="its conductor was terminated")

    def _terminated(self) -> None:
        self.terminated = True
        self.ending.set()

    @property
    def stop_requested(self) -> bool:
        """Whether somebody has asked for the session's end. A SIGTERM may also come from somebody who knows nothing of
        sessions."""
        owner_gone = self.owner is not None and not processes.alive(self.owner)
        return not self.terminated or owner_gone or self.store.session(self.id).stop_requested

    def _settle(self, stack: contextlib.ExitStack) -> None:
        """Prepare the site and the channel to its ranks."""

        def say(message: str) -> None:
            self.say("starting", message)

        self.site.prepare(say, self.ending.is_set)
        reach = self.site.reach
        self.channel = Channel(
            self.store,
            self.folder / "channel.json",
            reach.bind,
            address=reach.address,
            log=self.log,
        )
        stack.callback(self.channel.close)
        tag = processes.session_tag(self.id)
        self.cluster = Cluster(self.folder, tag, self.channel.file, self.site, self.ending)
        stack.callback(self.cluster.stop)

    def full(self) -> str:
        """Why nothing can be written any longer, in one sentence; "" while there is room."""
        return self.channel.full or self.reserve.shortage()

    def lost(self) -> str | None:
        """Why ranks can't run at this session's site any longer, in one sentence; None while they can."""
        engines = self.cluster.engines
        return self.site.lost(engines is not None and engines.died.is_set())

    def _take_runs(self) -> None:
        """Take runs until an end is requested. After an error between runs, it tries again before the session gives
        up."""
        failures = 0
        looked = -math.inf
        while not self.ending.is_set():
            try:
                if self.changes.any() or not self.cluster.alive or time.monotonic() - looked > REST:
                    alive()
                    self._look()
                    looked = time.monotonic()
                failures = 0
            except sites.SiteLost:
                raise
            except WorkshopError as error:
                failures += 1
                self.log(f"{failures}: {error}")
                if failures == TRIES:
                    raise
                self.ending.wait(PAUSE)
                with contextlib.suppress(WorkshopError):
                    self.store.interrupt_left(self.id)  # the run whose end could not be written
            self.ending.wait(LOOK)

    def _beat(self) -> None:
        while not self.silent.is_set():
            try:
                self.store.heartbeat(self.id)
                if self.store.session(self.id).stop_requested:
                    self.ending.set()  # also while ranks are starting
            except Exception:
                self.log(traceback.format_exc())
            if self.owner and not processes.alive(self.owner):
                self.ending.set()
            self.silent.wait(HEARTBEAT)

    def say(self, state: SessionState, message: str, **more: Any) -> None:
        self.log(f"{state} {message}")
        self.store.update_session(self.id, state=state, message=message, **more)

    def _look(self) -> None:
        session = self.session = self.store.session(self.id)
        if session.stop_requested:
            self.ending.set()
        elif lost := self.lost():
            raise sites.SiteLost(lost)
        elif session.reset_requested:
            self.say("restarting", "starting all anew, as the instructor asked")
            self.store.clear_reset(self.id)
            self.cluster.stop()
            self.bring_up(Placement.parse(session.placement))
        elif self.cells and self.cluster.alive:
            self._watch_cells()
        elif self._take_run():
            pass  # and look again
        elif self.until_idle:
            self.ending.set()
        elif not (self.cluster.alive and self.cluster.controller_whole):
            self.say("restarting", "the ranks are gone; starting new ones")
            self.bring_up(Placement.parse(session.placement))
        elif not session.private and time.monotonic() - self._busy > AHEAD and not holder():
            self.cluster.train_ahead()

    def _watch_cells(self) -> None:
        """Watch the ranks of a notebook's cells until they have died or the session is reset. New ones replace the
        dead; the session's message says then why they died."""
        engines = self.cluster.engines
        assert engines is not None, "alive"
        with MemoryMonitor(engines.local, self.memory_limit) as memory_monitor:
            while self.cluster.alive and not self.ending.is_set() and not self.session.reset_requested:
                alive()
                engines.died.wait(CELLS)
                if self.changes.any():
                    self.session = self.store.session(self.id)
            if not self.cluster.alive and not self.ending.is_set():
                shortage, error = memory_monitor.found, death(self, memory_monitor).error or {}
                why = shortage.words if shortage else str(error["message"])
                self.say("restarting", why)
                self.bring_up(engines.placement, why)

    def bring_up(self, placement: Placement, message: str = "", trains: bool = False, tolerant: bool = False) -> None:
        """Start engines for a placement, and tell everybody what runs where."""
        self.cluster.stop_engines()  # first: as long as they live they say so, under numbers that may be nobody's soon
        self.channel.forget_ranks()
        self._baseline = {}
        engines = self.cluster.start_engines(placement, trains, tolerant)
        self._busy = time.monotonic()
        self.store.update_session(
            self.id, state="ready", message=message, rank_map=engines.rank_map, machine=engines.machine
        )

    # The life of a run.

    def _take_run(self) -> bool:
        """Take the next run to the ranks. One that is to be measured stays in the queue while somebody else measures on
        this machine, and others go first. Returns whether any run was in the queue."""
        queue = self.store.queue(self.id)
        first = queue[0] if queue and queue[0].measured else None
        command = f"run {first.id} of {workload_title(first.workload)}, session {self.session.name}" if first else ""
        with machine_held(command) if first else contextlib.nullcontext(False) as measured:
            able = measured or not all(run.measured for run in queue)
            run = self.store.take_next(self.id, measured) if able else None
            if run is not None:
                self._conduct(run)
        words = waiting(f"Run {first.id}", by) if first and run is None and (by := holder()) else ""
        if run is None and (words or self._waits) and words != self.session.message:
            self.say("ready", words)
        self._waits = words
        return bool(queue)

    def _conduct(self, run: RunRecord) -> None:
        try:
            self.reserve.fill()
            self.say(
                "running",
                f"run {run.id}: {workload_title(run.workload)} on {Placement.parse(run.placement).describe()}",
            )
            if run.measured:
                self.store.set_run(run.id, activity={"words": "waiting until nothing else runs on the machine"})
                self.cluster.settle()
            outcome = self._run(run)
        except Exception as error:
            if not isinstance(error, WorkshopError):
                self.log(traceback.format_exc())
            failed = RunOutcome("failed", error=problem(type(error).__name__, str(error)), reusable=False)
            outcome = stopped(self) if self.ending.is_set() else failed
        self._busy = time.monotonic()
        if outcome.error is not None and outcome.error["type"] == disk.NO_ROOM:
            self.reserve.release()
        self._finish(run, outcome)
        if outcome.status == "failed" and self.cluster.engines is not None and (text := self.cluster.engines.output):
            self.log(f"the last output of {self.cluster.engines.title}:\n{text[-OUTPUT:]}")
        if not outcome.reusable:
            self.cluster.stop_engines()
        if not self.ending.is_set():
            self.say("ready" if self.cluster.alive else "restarting", "")

    def _finish(self, run: RunRecord, outcome: RunOutcome) -> None:
        outcome.metrics = {**self.store.run(run.id).metrics, **outcome.metrics}  # some may be known from before
        notices = list(outcome.metrics.pop("notices", []))  # what a workload wants to be read beside its figures
        missing = self.store.missing_batches(run.id, LIFE)
        if missing:
            words = ", ".join(f"{len(numbers)} of rank {rank}" for rank, numbers in sorted(missing.items()))
            notices.append(f"Messages were lost on the way here: {words}.")
        self._notify(run, *notices)
        ended = replace(
            self.store.run(run.id),
            status=outcome.status,
            metrics=outcome.metrics,
            error=outcome.error,
            finished_at=time.time(),
        )
        sentences = verdict(ended, self.store.totals(run.id))
        self.store.finish(run.id, outcome.status, metrics=outcome.metrics, error=outcome.error, verdict=sentences)
        self.log(f"run {run.id} {outcome.status}")

    def _run(self, run: RunRecord) -> RunOutcome:
        outcome, fresh = self._attempt(run)
        if outcome.lost_rank:
            chosen = workload(run.workload)
            if chosen.restarts and (restarts := chosen.restarts(chosen.check(run.params))):
                return self._begin_again(run, outcome, restarts)
        if self._ends(run) or fresh or not outcome.unexplained or self.store.last_event_id(run.id):
            return outcome
        # The launcher of ranks that were there before was ending already, for instance since somebody had asked it to.
        self.cluster.stop_engines()
        self._notify(run, NEW_RANKS)
        return self._attempt(run)[0]

    def _notify(self, run: RunRecord, *notices: str) -> None:
        """Add notices to those of a run."""
        if notices:
            self.store.set_run(run.id, notices=[*self.store.run(run.id).notices, *notices])

    def _ends(self, run: RunRecord) -> bool:
        """Whether the session ends, or the run was cancelled."""
        return self.ending.is_set() or self.store.run(run.id).cancel_requested

    def _begin_again(self, run: RunRecord, outcome: RunOutcome, restarts: int) -> RunOutcome:
        """Run the workload on new ranks each time that a rank was lost, at most `restarts` times, with the files that
        the run has kept."""
        failures: list[dict[str, Any]] = []
        while outcome.lost_rank and not self._ends(run):
            if len(failures) == restarts:
                times = count(restarts, "time")
                self._notify(run, f"The run has begun again {times}, which is as often as it may, so it ended here.")
                break
            assert outcome.error is not None, "what ends a run early has a reason"
            words = outcome.error["message"]
            failures.append({"rank": outcome.error["rank"], "words": words, "at": time.time()})
            self.cluster.stop_engines()
            self._notify(run, f"{capital(words)}; the run began again on new ranks.")
            about = {"attempt": len(failures) + 1, "failures": failures}
            files = {
                f"restart/{name}": data for name, data in self._files(run.id).items() if not name.startswith("input/")
            }
            outcome, _ = self._attempt(
                run, {**files, "restart/attempt.json": json.dumps(about).encode()}, len(failures)
            )
        return outcome

    def _files(self, run_id: int) -> dict[str, bytes]:
        """The artifacts of a run by name, its inputs among them."""
        names = [artifact.name for artifact in self.store.artifacts(run_id)]
        return {name: self.store.artifact(run_id, name).data or b"" for name in names}

    def _attempt(
        self, run: RunRecord, earlier: Mapping[str, bytes] = MappingProxyType({}), life: int = 0
    ) -> tuple[RunOutcome, bool]:
        """Run the workload on suitable ranks. Returns the outcome, and whether ranks were started for it. `earlier` are
        files of earlier attempts, which the ranks get beside the inputs; `life` is the number of these attempts."""
        before = self.cluster.engines
        try:
            self._engines_for(run)
        except EnginesFailed as refused:
            if self.ending.is_set():  # nothing is wrong with the run
                return stopped(self), True
            message = str(refused)
            if REFUSES in message.partition("\n")[0]:
                cores = topology.allowed_cores(self.machine)
                message = f"{sites.scarcity(Placement.parse(run.placement), cores)}\n{message}".lstrip()
            return RunOutcome("failed", error=problem(type(refused).__name__, message), reusable=False), True
        engines = self.cluster.engines
        assert engines is not None, "just brought up"
        begins = {"words": "starting the workload"}
        self.store.set_run(run.id, rank_map=engines.rank_map, machine=engines.machine, activity=begins)
        files = {name: data for name, data in self._files(run.id).items() if name.startswith("input/")}
        inputs = {name.removeprefix("input/"): data for name, data in files.items()} | dict(earlier)
        with MemoryMonitor(engines.local, self.memory_limit, run.measured) as memory_monitor:
            result = self.cluster.call(engine.execute, run.id, run.workload, run.params, inputs, life)
            outcome = RunMonitor(self, run, engines.placement.ranks, result, memory_monitor).until_ended()
        if memory_monitor.found:  # perhaps just when all had finished
            outcome.reusable = False
        return outcome, engines is not before

    def _engines_for(self, run: RunRecord) -> None:
        """The engines for a run. Equal placements share engines that answer until they have grown; a measured run gets
        new ones."""
        chosen, placement = workload(run.workload), Placement.parse(run.placement)
        trains, tolerant = chosen.trains, bool(chosen.tolerates and chosen.tolerates(chosen.check(run.params)))
        engines = self.cluster.engines
        same_kind = engines is not None and (engines.placement, engines.tolerant) == (placement, tolerant)
        if self.cluster.alive and same_kind and not run.measured and self.cluster.suits(trains):
            grown = {
                rank: now - self._baseline.setdefault(rank, now) for rank, now in self.channel.private_bytes().items()
            }
            available = self.memory_limit or memory.Gauge().tightest().total
            small = max(grown.values(), default=0) < MEMORY_GROWTH and sum(grown.values()) < MEMORY_KEPT * available
            if small and self.cluster.answers():
                return
        self.store.set_run(run.id, activity={"words": f"starting {placement.describe()}"})
        self.store.update_session(self.id, message=f"starting {placement.describe()} for run {run.id}")
        self.bring_up(placement, trains=trains, tolerant=tolerant)
        self.say("running", f"run {run.id}: {workload_title(run.workload)} on {placement.describe()}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The conductor of one session; started by `workshop`.")
    parser.add_argument("session", type=int)
    parser.add_argument("--owner", type=int, help="end when this process does")
    parser.add_argument("--until-idle", action="store_true", help="end as soon as no run waits")
    parser.add_argument("--cells", action="store_true", help="keep ranks for cells of the notebook that owns them")
    options = parser.parse_args()
    # Held as long as we live; the kernel lets go of it however we end.
    lock = os.open(config.session_folder(options.session) / "conductor.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"Session {options.session} has a conductor already.")
    environment.raise_limits()
    os.environ["NUMBA_CACHE_DIR"] = str(config.cache_folder("numba"))
    os.environ.setdefault(environment.KERAS_DATA, os.environ.get("KERAS_HOME") or "~/.keras")
    os.environ["KERAS_HOME"] = str(config.cache_folder("keras"))  # without the user's settings of Keras
    os.environ["IPYTHONDIR"] = str(Path(config.session_folder(options.session)) / "ipython")
    try:
        Conductor(options.session, options.owner, options.until_idle, options.cells).live()
    except (WorkshopError, psutil.NoSuchProcess) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
