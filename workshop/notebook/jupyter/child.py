"""JupyterLab as a child of `workshop up`."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.notebook.jupyter import keeper, settings
from workshop.notebook.jupyter.settings import prepare
from workshop.sessions.supervisor import ChildProcess, check_port, serve, url_of, wait_answer

HOST = "127.0.0.1"  # a shell is for nobody else
PORT, PORTS = 8888, 100  # the first port that is tried, and how many are
READY = 60.0  # seconds


def free_port(reserved: int | None = None) -> int:
    """The first free port from Jupyter's usual one on, except `reserved`: a browser mostly finds JupyterLab where it
    was. Raises BadInput."""
    for port in range(PORT, PORT + PORTS):
        if port == reserved:
            continue
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return port
    raise BadInput(f"No port from {PORT} to {PORT + PORTS - 1} is free for JupyterLab; choose one with --lab-port.")


@dataclass
class JupyterLab(ChildProcess):
    """JupyterLab on a learner's own copies of the notebooks. `dashboard` is the dashboard's address for this machine,
    without a token."""

    port: int
    say: Callable[[str], None]
    dashboard: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    name = "JupyterLab"
    answers = "JupyterLab answers"
    needed = False
    seconds = keeper.longest()  # its keeper ends everything that it has started

    @classmethod
    def asked_for(cls, port: str | None, say: Callable[[str], None], reserved: int | None = None) -> JupyterLab:
        """JupyterLab on the given port, or on a free one; another server is about to take the port `reserved`.
        Raises BadInput."""
        if port is None:
            return cls(free_port(reserved), say)
        number = check_port(HOST, port, "--lab-port")
        if number == reserved:
            raise BadInput(f"Port {number} is the dashboard's; choose another with --lab-port.")
        return cls(number, say)

    @property
    def origin(self) -> str:
        return url_of(HOST, self.port)

    @property
    def origins(self) -> str:
        """The addresses at which a browser on this machine may find JupyterLab."""
        return f"{self.origin} {url_of('localhost', self.port)}"

    @property
    def link(self) -> str:
        """The link to JupyterLab: a shell with the rights of the user who ran `workshop up`, for that person alone."""
        return f"{self.origin}/lab?token={self.token}"

    def start(self) -> None:
        if self._process is None:
            self.say("Starting JupyterLab")
            if find_spec("jupyterlab") is None:
                raise WorkshopError("JupyterLab is not installed: install the environment again (make up).")
            prepare(self.say)
        else:
            keeper.end_started(self._tag)
        command = [sys.executable, "-P", "-m", "workshop.notebook.jupyter.keeper", "--port", str(self.port)]
        variables = settings.environment(self.dashboard) | {keeper.TAG: self._tag}
        log = config.home() / "jupyterlab.log"
        more = {"stdin": subprocess.PIPE, "cwd": config.learners_folder()}
        self._process = serve([*command, "--parent", str(os.getpid())], log, variables, **more)
        assert self._process.stdin is not None, "piped"
        with contextlib.suppress(BrokenPipeError), self._process.stdin as line:
            line.write(f"{self.token}\n".encode())

    @property
    def _tag(self) -> str:
        return str(os.getpid())

    def wait_ready(self, ending: threading.Event) -> None:
        assert self._process is not None, "started before"
        log = config.home() / "jupyterlab.log"
        wait_answer("JupyterLab", f"{self.origin}/api", self._process, READY, log, ending)

    def end(self) -> None:
        super().end()
        keeper.end_started(self._tag)
