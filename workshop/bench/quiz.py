"""How many learners a live round of a quiz bears: from an answer to its confirmation, from the instructor's "next" to
everybody's screen, and whether every confirmed answer is in the store, once.

A real dashboard serves real WebSocket clients, which are in processes of their own.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from queue import Empty, Queue
from typing import Any

from websockets.sync.client import ClientConnection, connect

from workshop import bench
from workshop.bench import own_state
from workshop.bench.learners import PATIENCE
from workshop.bench.viewers import HOST, served
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.parent_death import guarded
from workshop.quiz.deck import Deck
from workshop.quiz.randomisation import ask
from workshop.server.auth import new_secrets
from workshop.server.quiz import round_start
from workshop.store.records import QuizRound
from workshop.store.store import Store

LEARNERS = (130, 500, 2000)
SECONDS = 10.0  # within which they answer
BURST = (500, 1.0)  # so many, within so many seconds
OF_A_PROCESS = 700  # learners
DECK = {
    "deck": "bench",
    "title": "Bench",
    "seconds": 600,
    "questions": [
        {
            "id": "single",
            "type": "single",
            "text": "Which of these waits for all ranks?",
            "options": [{"text": "Allreduce", "right": True}, {"text": "Rank"}, {"text": "Print"}, {"text": "Import"}],
        },
        {"id": "number", "type": "number", "text": "How many ranks are there?", "answer": 4},
        {
            "id": "multiple",
            "type": "multiple",
            "text": "Which of these are collective?",
            "options": [{"text": "Bcast", "right": True}, {"text": "Gather", "right": True}, {"text": "Send"}],
        },
    ],
}  # fmt: skip
QUESTIONS = [question["id"] for question in DECK["questions"]]

Progress = Callable[[int, int], None]


def read_learners(text: str) -> tuple[int, ...]:
    """Numbers of learners with commas between. Raises BadInput."""
    numbers = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and 1 <= int(word) <= 10_000 for word in numbers):
        raise BadInput(f"--learners is {text!r}; it should be numbers from 1 to 10000 with commas between.")
    return tuple(int(word) for word in numbers)


def run(
    learners: Sequence[int] = LEARNERS,
    seconds: float = SECONDS,
    burst: tuple[int, float] | None = BURST,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Play a round for each number of learners, and one of a burst; returns the bench as JSON. Raises WorkshopError."""
    where = bench.machine(("streamlit", "uvicorn", "websockets"))
    rounds = [(count, seconds) for count in learners] + ([burst] if burst else [])
    rows = []
    for done, (count, within) in enumerate(rounds):
        progress(done, len(rounds))
        try:
            rows.append(_round(count, within))
        except KeyboardInterrupt:
            if rows:  # those of whole rounds
                return bench.document("quiz", where, rows, {})
            raise
    progress(len(rounds), len(rounds))
    return bench.document("quiz", where, rows, {})


def _round(count: int, seconds: float) -> dict[str, Any]:
    """A whole round on a server of its own."""
    with own_state(), Store.open() as store, served(per_address=10) as (_, port):
        token, _ = new_secrets(store)
        record = round_start.host(store, Deck.model_validate(DECK))
        with _crowd(port, record.code or "", count, seconds) as crowd, _host(port, token, record.id) as host:
            crowd.wait("there")
            asked_at, reports = {}, {}
            for question in QUESTIONS:
                asked_at[question] = host.do("next", "question")
                reports[question] = [learner for line in crowd.wait("learners") for learner in line["learners"]]
                host.do("close", "closed")
                host.do("explain", "explained")
            host.do("end", "ended")
            confirmations = sum(line["confirmations"] for line in crowd.wait("confirmations"))
        return _row(store, record, count, seconds, asked_at, reports, confirmations)


def _row(
    store: Store,
    record: QuizRound,
    count: int,
    seconds: float,
    asked_at: dict[str, float],
    reports: dict[str, list[dict[str, Any]]],
    confirmations: int,
) -> dict[str, Any]:
    """The confirmed answers beside the answers in the store."""
    deck = Deck.model_validate(record.deck)
    stored = store.answers(record.id)
    answers = {(answer.question, answer.player_id): answer.answer for answer in stored}
    confirmed, lost, waits, screens = 0, 0, [], []
    for question, learners in reports.items():
        drawn_question = ask(deck, deck.question(question), record.seed)
        for learner in learners:
            if learner["seen"] is not None:
                screens.append(learner["seen"] - asked_at[question])
            if learner["waited"] is None:
                continue
            confirmed += 1
            waits.append(learner["waited"])
            lost += answers.get((question, learner["player"])) != drawn_question.question.read(
                drawn_question, learner["answer"]
            )
    if not waits or not screens:
        raise WorkshopError("No answer was confirmed at all; the dashboard's log says why.")
    p95 = _p95(waits)
    return {
        "name": f"{count} learners, answers within {seconds:g} s",
        "value": p95,
        "unit": "s from an answer to its confirmation, 95th percentile",
        "learners": count,
        "seconds": seconds,
        "questions": len(reports),
        "screens": len(screens),
        "confirmed": confirmed,
        "stored": len(stored),
        "lost": lost,
        "doubled": len(stored) - len(answers) + confirmations - confirmed,
        "p95_answer_s": p95,
        "p95_next_s": _p95(screens),
        "max_answer_s": max(waits),
        "max_next_s": max(screens),
    }


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


class Crowd:
    """Processes of learners, and the lines that they print."""

    def __init__(self, processes: list[subprocess.Popen[str]]) -> None:
        self.processes = processes
        self._lines: list[Queue[str]] = [Queue() for _ in processes]
        for process, lines in zip(processes, self._lines, strict=True):
            threading.Thread(target=self._read, args=(process, lines), daemon=True).start()

    def wait(self, key: str) -> list[dict[str, Any]]:
        """The next line of each, which should have this key. Raises WorkshopError where one says nothing."""
        answers = []
        for process, lines in zip(self.processes, self._lines, strict=True):
            try:
                line = lines.get(timeout=5 * PATIENCE)
            except Empty:
                raise WorkshopError("Learners of the bench have not answered for minutes.") from None
            if not line:
                raise WorkshopError(f"A process of learners ended with {process.wait(10)}; see what it said above.")
            answers.append(json.loads(line))
            if key not in answers[-1]:
                raise WorkshopError(f"A process of learners said {line[:80]!r} in place of {key}.")
        return answers

    @staticmethod
    def _read(process: subprocess.Popen[str], lines: Queue[str]) -> None:
        assert process.stdout is not None, "a pipe"
        for line in process.stdout:
            lines.put(line)
        lines.put("")


@contextmanager
def _crowd(port: int, code: str, count: int, seconds: float) -> Iterator[Crowd]:
    parts = -(-count // OF_A_PROCESS)
    bounds = [count * part // parts for part in range(parts + 1)]
    with ExitStack() as stack:
        processes = []
        for first, last in pairwise(bounds):
            wishes = {"port": port, "code": code, "numbers": [first, last], "seconds": seconds, "questions": QUESTIONS}
            command = guarded([sys.executable, "-m", "workshop.bench.learners", json.dumps(wishes)])
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
        yield Crowd(processes)


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
                return message


@contextmanager
def _host(port: int, token: str, round_id: int) -> Iterator[HostClient]:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    connection.request("GET", f"/?token={token}")
    cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
    connection.close()
    address = f"ws://{HOST}:{port}/quiz/{round_id}/socket?view=host"
    headers, origin = {"Cookie": cookie}, f"http://{HOST}:{port}"
    with connect(address, additional_headers=headers, origin=origin, compression=None, max_size=None) as line:
        yield HostClient(line)
