"""The children of `workshop up`, which run until an end is requested: their base, and a session's conductor.

Each ends with this process, whatever ends it, and is restarted when it dies before that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import http.client
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from workshop.core import config, processes
from workshop.core.environment import own_environment, own_folder
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.sessions.launchers import site
from workshop.store.records import SessionRecord
from workshop.store.store import Store

RESTARTS = 5  # of one child within RESTARTS_WITHIN seconds, after which something is really wrong
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


def check_port(host: str, port: int | str, option: str = "--port") -> int:
    """The port as a number. Raises BadInput where it isn't one, or nobody can listen there."""
    if not re.fullmatch("[1-9][0-9]{0,4}", str(port)) or int(port) > 65535:
        raise BadInput(f"The port is {str(port)[:40]!r}; it should be a whole number from 1 to 65535.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"can't be used ({error.strerror or error})"
            raise BadInput(f"Port {port} of {host} {why}; choose another with {option}.") from None
    return int(port)


@dataclass
class Supervisor:
    """Start with `start()`, then `watch()` until `ending` is set; `stop()` ends all children."""

    children: Sequence[ChildProcess]
    say: Callable[[str], None]
    ending: threading.Event = field(default_factory=threading.Event)
    _restarting: list[ChildProcess] = field(default_factory=list)  # children that are restarted when they die
    _restarts: dict[str, list[float]] = field(default_factory=dict)
    _health_checks: dict[Future[None], ChildProcess] = field(
        default_factory=dict
    )  # of those that aren't needed: whether they answer

    def start(self) -> None:
        """Start all at once, and wait until the needed children answer. Raises WorkshopError with the reason where a
        needed child doesn't answer."""
        began = time.monotonic()
        pool = ThreadPoolExecutor(len(self.children))
        waiting: dict[Future[None], ChildProcess] = {}
        try:
            self._restarting = [child for child in self.children if self._started(child)]
            for child in self._restarting:
                (waiting if child.needed else self._health_checks)[pool.submit(self._answers, child, began, "")] = child
            while waiting:
                for ready in wait(waiting, return_when=FIRST_COMPLETED).done:
                    del waiting[ready]
                    ready.result()
        except BaseException:
            self.ending.set()
            raise
        finally:
            pool.shutdown(wait=False)

    def _started(self, child: ChildProcess) -> bool:
        try:
            child.start()
        except WorkshopError as error:
            if child.needed:
                raise
            self.say(f"{error} All else goes on without it.")
            return False
        return True

    def watch(self) -> None:
        """Until `ending`: restart children that die, and check that they answer as at first. Raises WorkshopError when
        that happens again and again."""
        pool = ThreadPoolExecutor(len(self.children))
        try:
            while not self.ending.wait(0.3):
                self._hear()
                self._start_anew(pool)
        finally:
            pool.shutdown(wait=False)

    def _start_anew(self, pool: ThreadPoolExecutor) -> None:
        waiting_for = list(self._health_checks.values())
        for child in [child for child in self._restarting if child not in waiting_for and not child.alive()]:
            if why := child.done():
                self.say(why)
                self._restarting.remove(child)
            elif self._too_often(child):
                why = f"The {child.name} died {RESTARTS} times within a minute; see the logs in {config.home()}."
                if child.needed:
                    raise WorkshopError(why)
                self.say(f"{why} All else goes on without it.")
                self._restarting.remove(child)
            else:
                self.say(f"The {child.name} died; starting it anew")
                began = time.monotonic()
                if not self._started(child):
                    self._restarting.remove(child)
                elif not child.needed:  # of the others everybody sees whether they are there
                    self._health_checks[pool.submit(self._answers, child, began, " again")] = child

    def _answers(self, child: ChildProcess, began: float, suffix: str) -> None:
        """Raises WorkshopError where a started child doesn't answer in time, or something else answers in its place."""
        child.wait_ready(self.ending)
        if not self.ending.is_set():
            self.say(f"{child.answers}{suffix} after {time.monotonic() - began:.1f} s")

    def _hear(self) -> None:
        """End an unneeded child that doesn't answer; a child that has died meanwhile is restarted."""
        for answer in [answer for answer in self._health_checks if answer.done()]:
            child = self._health_checks.pop(answer)
            try:
                answer.result()
            except WorkshopError as error:
                if child.alive():
                    self.say(f"{error} All else goes on without it.")
                    child.ask_to_end()
                    self._restarting.remove(child)

    def _too_often(self, child: ChildProcess) -> bool:
        """Count another death of a child, and return whether it has died too often."""
        now = time.monotonic()
        before = self._restarts.get(child.name, [])
        self._restarts[child.name] = [restart for restart in before if now - restart < RESTARTS_WITHIN] + [now]
        return len(self._restarts[child.name]) > RESTARTS

    def stop(self) -> None:
        """End all children, and the sessions that they have started."""
        self.ending.set()
        launched = [
            process
            for process in processes.tagged(processes.UP_TAG, str(os.getpid()))
            if "workshop.sessions.conductor" in processes.command(process)
        ]
        for process in launched:
            with contextlib.suppress(psutil.Error):
                process.send_signal(lifecycle.END)
        for child in self.children:
            child.ask_to_end()
        for child in self.children:
            child.end()
        _, late = psutil.wait_procs(launched, timeout=lifecycle.STOPPED)
        for process in late:
            with contextlib.suppress(psutil.Error):
                process.kill()


ENDED = 5.0  # seconds within which a server must have ended
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy knows another 127.0.0.1


class ChildProcess:
    """The base of what `workshop up` keeps running: one process each. All are started at once, and by the main thread:
    the kernel ends a child with the thread that has started it."""

    name: str  # in sentences: "dashboard"
    answers: str  # the message, with the time, once it is ready: "The dashboard answers"
    needed: bool  # whether nothing goes on without it
    seconds = ENDED  # within which it must have ended
    _process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, also after it has died. Raises WorkshopError with the reason where that isn't possible."""
        raise NotImplementedError

    def wait_ready(self, ending: threading.Event) -> None:
        """Wait until it answers or somebody asks for an end. Raises WorkshopError with the reason where it doesn't."""
        raise NotImplementedError

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def done(self) -> str | None:
        """A sentence where it has ended on request, and is not to be restarted."""
        return None

    def ask_to_end(self) -> None:
        if self._process is not None and self.alive():
            self._process.terminate()

    def end(self) -> None:
        """Wait until it has ended, with all that it started; kill it when it takes too long."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self.seconds)
            return
        self._process.kill()
        self._process.wait()


@dataclass
class ConductorProcess(ChildProcess):
    """The session that `workshop up` brings up. Somebody else may stop it, which is then no accident."""

    store: Store
    session_name: str
    placement: Placement
    say: Callable[[str], None]
    at: Mapping[str, Any] = field(default_factory=lambda: site.LOCAL)  # where the ranks run
    session: SessionRecord | None = None
    name = "session's conductor"
    answers = "The session's ranks are ready"
    needed = True

    def start(self) -> None:
        if self.session is not None:
            self._process = lifecycle.revive(self.store, self.store.session(self.session.id), attached=True)
            return
        self.say(f"Starting session {self.session_name}: {self.placement.describe()}")
        self.session, self._process = lifecycle.start_session(
            self.store, self.session_name, self.placement, attached=True, at=self.at
        )

    def wait_ready(self, ending: threading.Event) -> None:
        assert self.session is not None and self._process is not None, "started before"
        on_look = lifecycle.saying(self.say)
        lifecycle.wait_ready(self.store, self.session, self._process, give_up=ending.is_set, on_look=on_look)

    def done(self) -> str | None:
        if self.session is None:
            return None
        now = self.store.session(self.session.id)
        if now.stop_requested or now.state == "stopped":
            return "The session was stopped; Ctrl-C ends the rest, too."
        return None

    def ask_to_end(self) -> None:
        if self._process is not None and self.alive():
            self._process.send_signal(lifecycle.END)

    def end(self) -> None:
        if self._process is not None:
            lifecycle.end_conductor(self._process)


def url_of(host: str, port: int) -> str:
    return f"http://{'[' + host + ']' if ':' in host else host}:{port}"


def serve(
    command: list[str], log: Path, variables: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """A server as a process of this `workshop up` with further variables, out of reach of the terminal's Ctrl-C. `more`
    is Popen's."""
    variables = own_environment() | dict(variables or {}) | {processes.UP_TAG: str(os.getpid())}
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "env": variables, "cwd": own_folder()} | more
    with open(log, "ab") as written:
        return subprocess.Popen(command, stdout=written, stderr=written, start_new_session=True, **options)


def wait_answer(
    what: str, url: str, process: subprocess.Popen[bytes], seconds: float, log: Path, ending: threading.Event
) -> None:
    """Wait until a server answers, or until `ending`. Raises WorkshopError where it answers with an error, ends, or
    takes longer."""
    deadline = time.monotonic() + seconds
    while not ending.is_set():
        try:
            with _DIRECTLY.open(url, timeout=5):
                return
        except urllib.error.HTTPError as error:
            raise WorkshopError(f"{what} answers with an error ({error}); see {log}.") from None
        except (OSError, http.client.HTTPException):  # also of what isn't HTTP: another program may have got the port
            pass
        if process.poll() is not None:
            raise WorkshopError(f"{what} did not start; see {log}.")
        if time.monotonic() > deadline:
            raise WorkshopError(f"{what} has not answered within {seconds:.0f} s; see {log}.")
        ending.wait(0.1)
