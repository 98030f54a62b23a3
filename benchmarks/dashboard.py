"""A dashboard as a process of its own, and the instructor of a live round at its socket."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urljoin

import psutil
from websockets.sync.client import ClientConnection, connect

from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.ports import free_port

HOST = "127.0.0.1"
READY = 60.0  # seconds
PATIENCE = 60.0  # seconds for a confirmation


@contextmanager
def served(port: int | None = None, proxy: str = "", prefix: str = "") -> Iterator[tuple[psutil.Process, int]]:
    """Start a dashboard process, and return it with its port (default: a free one). `proxy` is believed from where they
    come; visitors find it below the path `prefix`. Raises WorkshopError when the dashboard doesn't answer."""
    if port is None:
        port = free_port()
    command = guarded(
        [
            *(sys.executable, "-m", "workshop.web.server", "--host", HOST, "--port", str(port)),
            *("--proxy", proxy, "--prefix", prefix),
        ]
    )
    with open(config.home() / "dashboard.log", "ab") as log:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        server = subprocess.Popen(command, **quiet, start_new_session=True)
    try:
        deadline = time.monotonic() + READY
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://{HOST}:{port}/join", timeout=5):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                log_lines = (config.home() / "dashboard.log").read_text(errors="replace").strip().splitlines()
                raise WorkshopError(f"The dashboard did not start: {log_lines[-1] if log_lines else 'it said nothing'}")
            time.sleep(0.1)
        yield psutil.Process(server.pid), port
    finally:
        server.terminate()
        try:
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def joined(port: int, path: str, form: str, name: str) -> tuple[str, str]:
    """Come in through a form, as on a phone. Returns the cookie, and where the answer leads. Raises WorkshopError."""
    line = http.client.HTTPConnection(HOST, port, timeout=60)
    line.request("POST", path, form, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = line.getresponse()
    line.close()
    if answer.status != 303:
        raise WorkshopError(f"{name} was not let in: the server answered {answer.status}.")
    return (answer.getheader("set-cookie") or "").partition(";")[0], urljoin(path, answer.getheader("location") or "")


class HostClient:
    """The instructor, at a socket."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.version = self._state(lambda state: True)["version"]

    def do(self, command: str, phase: str) -> float:
        """Give a command, wait until the round is in that phase; returns when it was given."""
        at = time.time()
        self.line.send(json.dumps({"kind": "command", "do": command, "version": self.version}))
        self.version = self._state(lambda state: state["phase"] == phase and state["version"] > self.version)["version"]
        return at

    def _state(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                message = json.loads(self.line.recv(timeout=max(deadline - time.monotonic(), 0)))
            except TimeoutError:
                raise WorkshopError(f"The round has not gone on within {PATIENCE:g} s.") from None
            if message["kind"] == "problem":
                raise WorkshopError(message["why"])
            if message["kind"] == "state" and condition(message):
                return dict(message)


@contextmanager
def host(port: int, token: str, round_id: int) -> Iterator[HostClient]:
    """The instructor of a round, who signs in with the token."""
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    connection.request("GET", f"/?token={token}")
    cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
    connection.close()
    address = f"ws://{HOST}:{port}/quiz/{round_id}/socket?view=host"
    headers, origin = {"Cookie": cookie}, f"http://{HOST}:{port}"
    with connect(address, additional_headers=headers, origin=origin, compression=None, max_size=None) as line:
        yield HostClient(line)
