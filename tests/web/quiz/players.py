"""Learners and hosts of a live round, over real HTTP and WebSockets."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection

from tests.support import limit
from tests.web.dashboard import Dashboard, Visitor
from workshop.quiz import reader
from workshop.store.records import QuizRound
from workshop.web.quiz import rounds

PATIENCE = limit(60)  # seconds; a run that is waited for may have to compile first
DECK = """
deck: try
title: A <b>try</b>
seconds: 600
shuffle: false
questions:
- {id: one, type: single, text: "Which?", points: 2, explanation: Because of *that*.,
   options: [{text: A, right: true, feedback: SECRET of a}, {text: B, feedback: SECRET of b}, {text: C}]}
- {id: two, type: number, text: "How many?", answer: 4711, near: [{answer: 7, feedback: SECRET of seven}]}
- {id: three, type: poll, text: "Do you?", options: [{text: Yes}, {text: No}]}
"""


def begin(dashboard: Dashboard, text: str = DECK, **wishes: Any) -> QuizRound:
    return rounds.host(dashboard.store, reader.parse(text, "try.yaml"), **wishes)


def join(dashboard: Dashboard, record: QuizRound, nickname: str = "Ada", visitor: Visitor | None = None) -> Visitor:
    joined = visitor or dashboard.stranger()
    answer = joined.post("/quiz", {"code": record.code or "", "nickname": nickname})
    assert (answer.status, answer.headers.get("location")) == (303, f"/quiz/{record.id}"), answer.text
    return joined


class Line:
    """A browser's end of a socket: what came, and waiting for what should come."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.heard: list[dict[str, Any]] = []
        self.version = -1

    def wait(self, *kinds: str, wanted: Callable[[dict[str, Any]], bool] = lambda message: True) -> dict[str, Any]:
        """The next message of one of these kinds for which that holds."""
        deadline = time.monotonic() + PATIENCE
        while True:
            message = json.loads(self.connection.recv(timeout=max(deadline - time.monotonic(), 0)))
            self.heard.append(message)
            if message["kind"] == "state":
                self.version = message["version"]
            if message["kind"] in kinds and wanted(message):
                return message

    def has(self, kind: str) -> dict[str, Any]:
        """The first message of a kind, also one that came before."""
        return next((message for message in self.heard if message["kind"] == kind), None) or self.wait(kind)

    def phase(self, phase: str) -> dict[str, Any]:
        return self.wait("state", wanted=lambda state: state["phase"] == phase)

    def say(self, **message: Any) -> None:
        self.connection.send(json.dumps(message))

    def answer(self, question: str, answer: Any, ref: Any = 1) -> None:
        self.say(kind="answer", question=question, answer=answer, ref=ref)

    def do(self, command: str, phase: str, value: Any = None) -> dict[str, Any]:
        """A command of a host, and the state that it leads to."""
        before = self.version
        self.say(kind="command", do=command, value=value, version=before)
        return self.wait("state", wanted=lambda state: state["phase"] == phase and state["version"] > before)


@contextmanager
def line(visitor: Visitor, record: QuizRound, view: str = "player") -> Iterator[Line]:
    """A socket on which the first state has come."""
    with visitor.listen(f"/quiz/{record.id}/socket?view={view}") as connection:
        opened = Line(connection)
        opened.wait("state")
        yield opened
