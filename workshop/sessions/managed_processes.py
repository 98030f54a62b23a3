"""The processes that `workshop up` keeps up: their common base, and a session's conductor."""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core import processes
from workshop.core.environment import own_environment, own_folder
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.sessions.launchers import site
from workshop.store.records import SessionRecord
from workshop.store.store import Store

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
