"""The dashboard's server as a child of `workshop up`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from workshop.core import config
from workshop.core.parent_death import guarded
from workshop.sessions.supervisor import ChildProcess, serve, url_of, wait_answer
from workshop.web.address import ANYWHERE

READY = 60.0  # seconds


@dataclass
class Dashboard(ChildProcess):
    """The dashboard's server. Only pages of `framed_by` (origins) may show it in a frame, and only a `proxy` (an
    address) is believed from where requests come."""

    host: str
    port: int
    say: Callable[[str], None]
    framed_by: str = ""
    proxy: str = ""
    name = "dashboard"
    answers = "The dashboard answers"
    needed = True

    @property
    def url(self) -> str:
        return url_of(self.host, self.port)

    @property
    def url_here(self) -> str:
        """Its address for this machine, also where it listens on all of its addresses."""
        return url_of(ANYWHERE.get(self.host, self.host), self.port)

    def start(self) -> None:
        if self._process is None:
            self.say("Starting the dashboard")
        command = [sys.executable, "-P", "-m", "workshop.web", "--host", self.host, "--port", str(self.port)]
        if self.framed_by:
            command += ["--framed-by", self.framed_by]
        if self.proxy:
            command += ["--proxy", self.proxy]
        self._process = serve(guarded(command), config.home() / "dashboard.log")

    def wait_ready(self, ending: threading.Event) -> None:
        assert self._process is not None, "started before"
        log = config.home() / "dashboard.log"
        wait_answer("The dashboard", f"{self.url_here}/join", self._process, READY, log, ending)
