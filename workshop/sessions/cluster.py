"""One ipyparallel cluster: a controller and at most one set of engines, which are the ranks of one MPI world.

All of ipyparallel's coroutines run on one loop in one thread that lives as long as the process: its callbacks need
that, and so do the guards, since the kernel's parent-death signal follows the thread that started a process.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

import ipyparallel as ipp
import psutil
from ipyparallel.error import IPythonError
from traitlets.config import Config

from workshop import mpi
from workshop.core import extras, processes, rank_map, topology
from workshop.core.parent_death import guarded
from workshop.core.patience import MOST_PATIENCE, patient
from workshop.core.placement import Placement
from workshop.engine import host as engine
from workshop.sessions import leftovers
from workshop.sessions.engines import EngineSet, EnginesFailed, ExitWatcher, RanksNotStarted
from workshop.sessions.fork.handle import TRAINING, RankServer
from workshop.sessions.launchers.site import Site

T = TypeVar("T")
READY = 60.0  # seconds within which engines must have registered
ANSWER = 4.0  # seconds within which every rank of an idle machine must have answered; it takes some milliseconds
STOP = 10.0  # seconds within which a stop must have happened
NOTICED = 3.0  # seconds within which the controller must have noticed that engines are gone
LAUNCHER = 1.0  # seconds by which a launcher may say later than the controller that a rank has died
HEARTBEAT = 200  # milliseconds; engines count as registered after one, and as dead after 25


class Cluster:
    """Start, use and stop ranks for one placement after the other. Used by one thread, the conductor's."""

    def __init__(self, folder: Path, tag: str, channel_file: Path, site: Site, ending: threading.Event) -> None:
        self.engines: EngineSet | None = None
        self._folder = folder
        self._tag = tag
        self._channel_file = channel_file
        self._site = site
        self._ending = ending  # nobody waits for ranks that are no longer wanted
        self._sets = 0
        self._server = RankServer(folder / "ranks.socket")
        self._trainer = RankServer(folder / "training.socket", TRAINING)  # of ranks that train
        self._ahead = False  # whether the imports of training were begun before anybody needed them
        self._cluster: Any = None
        self._client: Any = None
        self._controller_died = threading.Event()
        self._controllers: list[psutil.Process] = []  # its processes, once ranks have registered
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="ipyparallel", daemon=True).start()

    def _wait(self, coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise RanksNotStarted(f"the ranks' controller or launcher did not answer within {seconds:.0f} s") from None
        except RuntimeError as error:  # by which ipyparallel tells that one of its processes has ended
            raise RanksNotStarted("the ranks' controller ended while it was starting") from error

    @property
    def controller_alive(self) -> bool:
        return self._cluster is not None and not self._controller_died.is_set()

    @property
    def controller_whole(self) -> bool:
        """Whether no process of the controller has died: a run goes on without its second one, but no rank starts."""
        return self.controller_alive and all(map(processes.alive, self._controllers))

    @property
    def alive(self) -> bool:
        return self.controller_alive and self.engines is not None and not self.engines.died.is_set()

    def answers(self) -> bool:
        """Whether all ranks that are up answer in time: one that is alive may be deaf for ever."""
        expected = (
            sorted(report["pid"] for report in self.engines.rank_map["ranks"]) if self.engines is not None else []
        )
        if not (self.alive and self.controller_whole and len(self._client.ids) == len(expected)):
            return False
        try:
            result = self._client[:].apply_async(os.getpid)
            began = time.monotonic()
            while not result.ready():
                if time.monotonic() - began > patient(ANSWER) or self._ending.is_set():
                    return False
                result.wait(0.05)
            return bool(sorted(result.get(0)) == expected)
        except (IPythonError, TimeoutError):
            return False

    def start_controller(self) -> None:
        """Start the controller where the ranks can reach it, with a heartbeat short enough to notice a dead engine
        soon."""
        profile = self._folder / "profile"
        shutil.rmtree(profile, ignore_errors=True)  # a dead controller's connection files would lead engines astray
        config = Config()
        config.LocalControllerLauncher.controller_cmd = guarded([sys.executable, "-P", "-m", "ipyparallel.controller"])
        # How long one that comes late is waited for.
        config.MPIEngineSetLauncher.engine_args = [
            f"--IPEngine.timeout={READY * MOST_PATIENCE}",
            "--IPEngine.max_heartbeat_misses=0",  # each rank ends by itself when its conductor falls silent
        ]
        reach = self._site.reach

        async def make() -> Any:
            return ipp.Cluster(
                engines="mpi",
                profile_dir=str(profile),
                cluster_id="",
                controller_ip=reach.bind,
                controller_location=reach.address,
                work_dir=str(self._folder),
                delay=0,
                # That holds keys, and launchers send their variables to their daemons.
                send_engines_connection_env=not reach.encrypted,
                config=config,
                controller_args=[
                    f"--HeartMonitor.period={HEARTBEAT}",
                    "--HeartMonitor.max_heartmonitor_misses=25",
                    "--usethreads",
                    f"--IPController.enable_curve={reach.encrypted}",
                ],
                shutdown_atexit=False,
                log_level=logging.ERROR,
            )

        self._controller_died.set()  # until it can be reached
        self._cluster = self._wait(make(), 5)
        self._wait(self._cluster.start_controller(), READY)
        # Engines read that from a file, which has to be there.
        self._wait(self._cluster.controller.get_connection_info(), READY)
        self._controller_died.clear()
        self._cluster.controller.on_stop(lambda _: self._controller_died.set())

    def suits(self, trains: bool) -> bool:
        """Whether the ranks that are up suit a run that `trains`, or one that doesn't. Ranks that are forked from a
        process with the imports of training begin such a run sooner than ranks that have yet to import."""
        return not trains or self.engines is None or self.engines.parent is None or self.engines.trained

    def train_ahead(self) -> None:
        """Start the imports of training, for ranks that start later."""
        if self._site.here and not self._ahead and not extras.lacks("Training", extras.TRAINING, "tensorflow"):
            self._ahead = True
            self._trainer.start()

    def settle(self) -> None:
        """Wait until no imports go on with which a measured run would share the machine."""
        for server in (self._server, self._trainer):
            server.settle(self._ending.is_set)

    def start_engines(self, placement: Placement, trains: bool = False, tolerant: bool = False) -> EngineSet:
        """Start the ranks of a placement, which take the place of those that are up; `trains`: to train; `tolerant`:
        they can go on after one of them has died.

        Raises EnginesFailed with the MPI's own words where it refuses, or with what went wrong. Ranks that were late,
        or died while they were starting, are started once more.
        """
        try:
            return self._start(placement, trains, tolerant)
        except RanksNotStarted:
            if self._ending.is_set():
                raise
        self.stop()  # the controller, too: it may be what does not answer
        return self._start(placement, trains, tolerant)

    def _start(self, placement: Placement, trains: bool, tolerant: bool) -> EngineSet:
        self.stop_engines()
        if not self.controller_whole:
            self.stop()
        server = self._trainer if trains else self._server
        if self._site.here:
            server.start()  # and imports while the controller starts
        if not self.controller_alive:
            self.start_controller()
        self._sets += 1
        engines_tag = f"{self._tag}-{os.getpid()}-{self._sets}"
        launch = self._cluster.config.MPIEngineSetLauncher
        variables = {engine.CHANNEL: str(self._channel_file), processes.ENGINES_TAG: engines_tag}
        server.settle(self._ending.is_set)
        launch.engine_cmd, more, parent = server.launch(placement)
        started = self._site.launch(placement, {**variables, **more})
        # Ranks say that they are expendable, too, but not before they have imported what they need.
        launch.mpi_cmd = guarded(started.command, expendable=True)
        options, variables = mpi.module_of(placement.mpi).tolerance(started.environment) if tolerant else ([], {})
        launch.mpi_args = [*started.arguments, *options]
        launch.environment = {**started.environment, **variables}
        set_id = self._wait(self._cluster.start_engines(placement.ranks), READY)
        engines = self.engines = EngineSet(placement, set_id, engines_tag, self._cluster.engines[set_id])
        leftovers.remember_launcher(self._folder, engines.launcher.pid)
        engines.trained, engines.tolerant, engines.parent = trains, tolerant, parent
        try:
            self._connect(engines)
            self._controllers = processes.family(self._cluster.controller.pid)
            replies = self._client[:].apply_async(engine.report).get(patient(READY))
            self._check_world(replies, placement)
        except (EnginesFailed, TimeoutError, ipp.error.IPythonError) as error:
            failed = error if isinstance(error, EnginesFailed) else self._why(engines, error)
            self.stop_engines()
            raise failed from error
        engines.rank_map = rank_map.rank_map(reply["report"] for reply in replies)
        # Replies are in the order of the engines' ids.
        client, ids = self._client, list(self._client.ids)
        engines.launcher.on_stop(lambda _: _unregister(client, ids))
        if len(engines.local) == placement.ranks:
            engine_ids = dict(zip((reply["report"]["pid"] for reply in replies), ids, strict=True))
            engines.exit_watcher = ExitWatcher(
                engines.local.values(), lambda pid: _unregister(client, [engine_ids[pid]])
            )
        # Of all hosts: several may share this one's memory under other names, and elsewhere there is no such file.
        leftovers.remember(self._folder, [(reply["report"]["host"], reply["segments"]) for reply in replies])
        engines.machine = topology.together(reply["machine"] for reply in replies if reply["machine"])
        if self._site.here:
            engines.machine["allowed"] = sorted(os.sched_getaffinity(0))  # ours, since ranks are bound to less
        return engines

    def _connect(self, engines: EngineSet) -> None:
        self._client = self._wait(self._cluster.connect_client(), READY)
        began = time.monotonic()
        while len(self._client.ids) < engines.placement.ranks:
            if engines.died.wait(0.02):
                raise engines.not_started()
            if self._ending.is_set():
                raise EnginesFailed("the session was asked to end")
            if time.monotonic() - began > (limit := patient(READY)):
                raise RanksNotStarted(
                    f"{len(self._client.ids)} of {engines.placement.ranks} ranks have started within {limit:.0f} s"
                )

    @staticmethod
    def _check_world(replies: list[dict[str, Any]], placement: Placement) -> None:
        sizes = sorted({reply["size"] for reply in replies})
        if sizes != [placement.ranks]:
            raise EnginesFailed(
                f"the ranks found themselves in worlds of size {sizes} instead of one of {placement.ranks}: "
                "the launcher and mpi4py's library are not of the same MPI"
            )

    @staticmethod
    def _why(engines: EngineSet, error: Exception) -> EnginesFailed:
        if not engines.died.wait(LAUNCHER):
            return RanksNotStarted(f"the ranks did not report themselves: {type(error).__name__}: {error}")
        return engines.not_started()

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a function on all ranks; returns ipyparallel's AsyncResult."""
        assert self.engines is not None, "started before"
        return self._client[:].apply_async(function, *arguments)

    def stop_engines(self) -> None:
        """End the running ranks in any state, with everything that they have started."""
        engines, self.engines = self.engines, None
        if engines is not None and self.controller_alive:
            # Ranks may be stuck in a collective, deaf to SIGTERM. mpirun notices that they are gone and follows.
            for report in engines.rank_map.get("ranks", []):
                processes.kill(report["pid"], processes.ENGINES_TAG, engines.tag)
            engines.died.wait(2.0)
        if self._cluster is not None:
            for set_id in list(self._cluster.engines):
                with contextlib.suppress(Exception):  # a set that is dead already; the tag below is what counts
                    self._wait(self._cluster.stop_engines(set_id), STOP)
        if self._client is not None:
            _unregister(self._client, self._client.ids)
            deadline = time.monotonic() + NOTICED
            while self.controller_alive and self._client.ids and time.monotonic() < deadline:
                time.sleep(0.02)
            if self._client.ids:
                self._controller_died.set()  # it still counts the dead: start a new one
            with contextlib.suppress(Exception):
                self._client.close()
            self._client = None
        if engines is not None:
            processes.end_all(processes.ENGINES_TAG, engines.tag, seconds=0.5)
            leftovers.remove(self._folder)
            leftovers.remove_temporary_files(self._folder)

    def stop(self) -> None:
        """End the ranks and the controller."""
        self.stop_engines()
        if self._cluster is not None:
            controllers = [*self._controllers, *processes.family(getattr(self._cluster.controller, "pid", None))]
            if self._controller_died.is_set():  # or deaf, and would have to be waited for
                processes.kill_all(controllers)
            with contextlib.suppress(Exception):
                self._wait(self._cluster.stop_controller(), STOP)
            processes.kill_all(controllers)
            self._cluster, self._controllers = None, []
        self._server.stop()
        self._trainer.stop()


def _unregister(client: Any, ids: Iterable[int]) -> None:
    """Tell an ipyparallel controller that engines have ended, which it would notice only after seconds without
    heartbeats. Doesn't wait for an answer; any thread may call it. Engines that the controller doesn't know are left
    out."""
    gone = list(ids)

    def send() -> None:  # in the client's own thread, whose socket it is
        if not client._closed:
            for id in gone:
                client.session.send(client._query_stream, "unregistration_request", content={"id": id})

    client._io_loop.add_callback(send)
