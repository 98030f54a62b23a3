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
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
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

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(len(self.children))
        # By name of the children that are restarted when they die: whether each has answered.
        self._answers: dict[str, Future[None]] = {}
        self._deaths: dict[str, list[float]] = {}

    def start(self) -> None:
        """Start all at once, and wait until the needed children answer. Raises WorkshopError with the reason where a
        needed child doesn't answer."""
        try:
            for child in self.children:
                self._start(child, "")
            for ready in as_completed([self._answers[child.name] for child in self.children if child.needed]):
                ready.result()
        except BaseException:
            self.ending.set()
            raise

    def _start(self, child: ChildProcess, suffix: str) -> None:
        began = time.monotonic()
        try:
            child.start()
        except WorkshopError as error:
            return self._give_up(child, error)
        if not suffix or not child.needed:  # everybody sees whether a needed one is there again
            self._answers[child.name] = self._pool.submit(self._wait, child, began, suffix)

    def _wait(self, child: ChildProcess, began: float, suffix: str) -> None:
        """Raises WorkshopError where a started child doesn't answer in time, or something else answers in its place."""
        child.wait_ready(self.ending)
        if not self.ending.is_set():
            self.say(f"{child.answers}{suffix} after {time.monotonic() - began:.1f} s")

    def _give_up(self, child: ChildProcess, why: BaseException) -> None:
        """Go on without a child. Raises the reason where that isn't possible."""
        if child.needed:
            raise why
        self.say(f"{why} All else goes on without it.")
        child.ask_to_end()
        self._answers.pop(child.name, None)

    def watch(self) -> None:
        """Until `ending`: restart children that die, and check that they answer as at first. Raises WorkshopError when
        that happens again and again."""
        while not self.ending.wait(0.3):
            for child in self.children:
                answer = self._answers.get(child.name)
                if answer is None or not answer.done():
                    continue
                if not child.alive():
                    self._replace(child)
                elif (error := answer.exception()) is not None:
                    self._give_up(child, error)

    def _replace(self, child: ChildProcess) -> None:
        """Start a child anew that has died, unless it was to end or dies too often."""
        now = time.monotonic()
        deaths = [at for at in self._deaths.get(child.name, []) if now - at < RESTARTS_WITHIN] + [now]
        self._deaths[child.name] = deaths
        if why := child.done():
            self.say(why)
            del self._answers[child.name]
        elif len(deaths) > RESTARTS:
            words = f"The {child.name} died {RESTARTS} times within a minute; see the logs in {config.home()}."
            self._give_up(child, WorkshopError(words))
        else:
            self.say(f"The {child.name} died; starting it anew")
            self._start(child, " again")

    def stop(self) -> None:
        """End all children, and the sessions that they have started."""
        self.ending.set()
        self._pool.shutdown(wait=False)
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
