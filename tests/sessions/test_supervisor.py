"""What `workshop up` does with a child that dies: a small server here, which is a real process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import starts_processes, until
from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.core.ports import free_port
from workshop.sessions.supervisor import ChildProcess, Supervisor, serve, wait_answer

SERVES = "import http.server, sys; http.server.test(http.server.SimpleHTTPRequestHandler, port=int(sys.argv[1]))"
DEAF = "import time; time.sleep(600)"
NOT_HTTP = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    with server.accept()[0] as line:
        line.recv(1 << 16)
        line.sendall(b"220 mail.example.org\\r\\n")
"""
PATIENCE = 60.0  # seconds, of a machine that has more to do


@dataclass
class Small(ChildProcess):
    """A server; after its first start it runs `code` instead, and has `seconds` for an answer."""

    code: str = SERVES
    patience: float = PATIENCE
    port: int = field(default_factory=free_port)
    starts: int = 0
    name = "small server"
    answers = "The small server answers"
    needed = False

    def start(self) -> None:
        code = self.code if self.starts else SERVES
        self.starts += 1
        self._process = serve([sys.executable, "-c", code, str(self.port)], config.home() / "small.log")

    def wait_ready(self, ending: threading.Event) -> None:
        url, seconds = f"http://127.0.0.1:{self.port}/", self.patience if self.starts > 1 else PATIENCE
        wait_answer("The small server", url, self._process, seconds, config.home() / "small.log", ending)

    def kill(self) -> None:
        self._process.kill()


class Missing(ChildProcess):
    """One that can't even be launched."""

    name = "missing server"
    answers = "The missing server answers"
    needed = False

    def __init__(self) -> None:
        self.starts = 0

    def start(self) -> None:
        self.starts += 1
        raise WorkshopError("The missing server is not installed.")

    def wait_ready(self, ending: threading.Event) -> None:
        raise AssertionError("it was never launched")


class Watched:
    """A small server, beside one that is missing from the first."""

    def __init__(self, child: Small) -> None:
        self.child, self.missing = child, Missing()
        self.said: list[str] = []
        self.supervisor = Supervisor([child, self.missing], self.said.append)
        self._watching = threading.Thread(target=self.supervisor.watch)

    def begin(self) -> None:
        self.supervisor.start()
        self.hears("answers after")
        self._watching.start()

    def hears(self, words: str) -> str:
        return until(lambda: next((one for one in self.said if words in one), None), PATIENCE, words)

    def end(self) -> None:
        """As `workshop up` does: nobody starts anything anew any more when all is stopped."""
        self.supervisor.ending.set()
        if self._watching.ident is not None:
            self._watching.join(PATIENCE)
        self.supervisor.stop()


@pytest.fixture
@starts_processes
def watched(workshop_home: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    made = Watched(Small(*request.param))  # a port is free when it is chosen, not long after
    try:
        made.begin()
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("watched", [()], indirect=True, ids=["serves"])
def test_one_that_can_not_be_launched_is_left_out_for_good(watched: Watched) -> None:
    assert watched.hears("missing") == "The missing server is not installed. All else goes on without it."
    watched.child.kill()
    watched.hears("The small server answers again after")  # it was looked for what has died
    watched.child.kill()
    until(lambda: watched.child.starts == 3, PATIENCE, "another look")
    assert watched.missing.starts == 1
    assert sum("missing" in one for one in watched.said) == 1


@pytest.mark.parametrize("watched", [(DEAF, 1.0), (NOT_HTTP, 3.0)], indirect=True, ids=["deaf", "not HTTP"])
def test_one_that_does_not_answer_anew_is_ended_with_a_sentence(watched: Watched) -> None:
    watched.child.kill()
    told = watched.hears("has not answered")
    assert told.startswith(f"The small server has not answered within {watched.child.patience:.0f} s; see ")
    assert told.endswith("small.log. All else goes on without it.")
    until(lambda: not watched.child.alive(), PATIENCE, "its end")
    assert not watched.supervisor.ending.wait(1.0)
    assert watched.child.starts == 2 and not any("answers again" in one for one in watched.said)


@pytest.mark.parametrize("watched", [("import sys; sys.exit(1)",)], indirect=True, ids=["dies"])
def test_one_that_dies_again_and_again_is_given_up(watched: Watched) -> None:
    watched.child.kill()
    watched.hears("The small server died 5 times within a minute")
    assert watched.child.starts == 6
