"""What `workshop up` keeps running: one session's conductor and the dashboard, until somebody asks for an end.

Both are children that end with this process, whatever ends it, and are started anew when they die before that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psutil

from workshop import config
from workshop.errors import BadInput, WorkshopError
from workshop.placement import Placement
from workshop.session import lifecycle, processes, site
from workshop.session.guard import guarded
from workshop.store.records import SessionRecord
from workshop.store.store import Store

DASHBOARD_READY = 60.0  # seconds
RESTARTS = 5  # within RESTARTS_WITHIN seconds, after which something is really wrong
RESTARTS_WITHIN = 60.0


@contextmanager
def only_one() -> Iterator[None]:
    """Hold the state folder's lock of `workshop up`. Raises BadInput where another one runs."""
    path = config.home() / "up.lock"
    with open(path, "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise BadInput(
                f"`workshop up` runs already ({lock.read().strip() or 'just starting'}); "
                "use that one, end it, or set WORKSHOP_HOME to another folder for a second."
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}")
        lock.flush()
        yield


def check_port(host: str, port: int | str) -> int:
    """The port as a number. Raises BadInput where it isn't one, or nobody can listen there."""
    if not str(port).isdecimal() or not 1 <= int(port) <= 65535:
        raise BadInput(f"The port is {port!r}; it should be a whole number from 1 to 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"can't be used ({error.strerror or error})"
            raise BadInput(f"Port {port} of {host} {why}; choose another with --port.") from None
    return int(port)


@dataclass
class Supervisor:
    """Start with `start()`, then `watch()` until `ending` is set; `stop()` ends both children."""

    store: Store
    name: str
    placement: Placement
    host: str
    port: int
    say: Callable[[str], None]
    at: Mapping[str, Any] = field(default_factory=lambda: site.LOCAL)  # where the ranks run
    ending: threading.Event = field(default_factory=threading.Event)
    session: SessionRecord | None = None
    _conductor: subprocess.Popen[bytes] | None = None
    _dashboard: subprocess.Popen[bytes] | None = None
    _restarts: list[float] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{'[' + self.host + ']' if ':' in self.host else self.host}:{self.port}"

    def start(self) -> None:
        """Bring up both at once, and wait until both answer. Raises WorkshopError with the reason where one doesn't."""
        began = time.monotonic()
        self.say(f"Starting session {self.name}: {self.placement.describe()}")
        session, self._conductor = lifecycle.start_session(
            self.store, self.name, self.placement, attached=True, at=self.at
        )
        self.say("Starting the dashboard")
        self._dashboard = self._start_dashboard()
        self.session = lifecycle.wait_ready(
            self.store, session, self._conductor, give_up=self.ending.is_set, on_look=lifecycle.saying(self.say)
        )
        self.say(f"The session's ranks are ready after {time.monotonic() - began:.1f} s")
        self._wait_dashboard()
        self.say(f"The dashboard answers after {time.monotonic() - began:.1f} s")

    def _start_dashboard(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "workshop.web", "--host", self.host, "--port", str(self.port)]
        with open(config.home() / "dashboard.log", "ab") as log:
            return subprocess.Popen(
                guarded(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {processes.UP_TAG: str(os.getpid())},
            )

    def _wait_dashboard(self) -> None:
        assert self._dashboard is not None, "started before"
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.url.partition("//")[2].rpartition(":")[0])
        deadline = time.monotonic() + DASHBOARD_READY
        while not self.ending.is_set():
            try:
                with urllib.request.urlopen(f"http://{host}:{self.port}/join", timeout=5):
                    return
            except urllib.error.HTTPError as error:
                raise WorkshopError(
                    f"The dashboard answers with an error ({error}); see {config.home()}/dashboard.log."
                ) from None
            except OSError:
                pass
            if self._dashboard.poll() is not None:
                raise WorkshopError(f"The dashboard did not start; see {config.home() / 'dashboard.log'}.")
            if time.monotonic() > deadline:
                raise WorkshopError(f"The dashboard has not answered within {DASHBOARD_READY:.0f} s.")
            self.ending.wait(0.1)

    def watch(self) -> None:
        """Until `ending`: start anew what dies. Raises WorkshopError when that happens again and again."""
        while not self.ending.wait(0.3):
            if self._dashboard is not None and self._dashboard.poll() is not None:
                self._count_restart("dashboard")
                self._dashboard = self._start_dashboard()
            if self._conductor is not None and self._conductor.poll() is not None and self.session is not None:
                now = self.store.session(self.session.id)
                if now.stop_requested or now.state == "stopped":
                    self.say("The session was stopped; Ctrl-C ends the dashboard, too.")
                    self._conductor = None
                else:
                    self._count_restart("session's conductor")
                    self._conductor = lifecycle.revive(self.store, now, attached=True)

    def _count_restart(self, what: str) -> None:
        now = time.monotonic()
        self._restarts = [then for then in self._restarts if now - then < RESTARTS_WITHIN] + [now]
        if len(self._restarts) > RESTARTS:
            raise WorkshopError(f"The {what} died {RESTARTS} times within a minute; see the logs in {config.home()}.")
        self.say(f"The {what} died; starting it anew")

    def stop(self) -> None:
        """End both, and the sessions that were launched from the dashboard."""
        launched = [
            process
            for process in processes.tagged(processes.UP_TAG, str(os.getpid()))
            if "workshop.session.conductor" in processes.command(process)
        ]
        for process in launched:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        if self._dashboard is not None:
            self._dashboard.terminate()
        if self._conductor is not None:
            lifecycle.end_conductor(self._conductor)
        if self._dashboard is not None:
            try:
                self._dashboard.wait(5)
            except subprocess.TimeoutExpired:
                self._dashboard.kill()
                self._dashboard.wait()
        _, late = psutil.wait_procs(launched, timeout=lifecycle.STOPPED)
        for process in late:
            with contextlib.suppress(psutil.Error):
                process.kill()
