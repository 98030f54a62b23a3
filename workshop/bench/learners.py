"""Learners of a quiz in a process of their own: they join by code, listen as browsers do, and answer after a while.

`python -m workshop.bench.learners '{"port": …, "code": …, "numbers": [first, end], "seconds": …, "questions": […]}'`
starts a learner for each number from `first` to `end` - 1. `questions` are ids. It prints a line of JSON when all
learners are in the round, and one for each question when all its answers are confirmed; it ends with the round.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import websockets
from websockets.asyncio.client import ClientConnection

from workshop.bench.viewers import HOST

TOGETHER = 8  # learners of a process that join at the same moment
PATIENCE = 60.0  # seconds for a confirmation


class LearnerClient:
    def __init__(self, port: int, code: str, number: int, seconds: float) -> None:
        self.port, self.code, self.number, self.seconds = port, code, number, seconds
        self.player = 0
        self.seen: dict[str, float] = {}  # question -> when it was here
        self.waited: dict[str, float] = {}  # question -> seconds from the answer to its confirmation
        self.answered: dict[str, Any] = {}  # question -> what was confirmed
        self.confirmations = 0
        self._chance = random.Random(number)
        self._sent: dict[str, tuple[float, Any]] = {}
        self._cookie, self._round = "", ""

    def join(self) -> None:
        """Through the form, as on a phone."""
        line = http.client.HTTPConnection(HOST, self.port, timeout=60)
        form = urlencode({"code": self.code, "nickname": f"Learner {self.number}"})
        line.request("POST", "/quiz", form, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = line.getresponse()
        answer.read()
        if answer.status != 303:
            raise SystemExit(f"Learner {self.number} was not let in: the server answered {answer.status}.")
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        self._round = answer.getheader("location") or ""
        line.close()

    async def play(self, arrivals: asyncio.Semaphore, confirmed: dict[str, asyncio.Semaphore]) -> None:
        """Play until the round has ended. Releases `arrivals` when this learner is let in, and the question's semaphore
        in `confirmed` when an answer is confirmed."""
        async with websockets.connect(
            f"ws://{HOST}:{self.port}{self._round}/socket?view=player",
            additional_headers={"Cookie": self._cookie},
            origin=f"http://{HOST}:{self.port}",
            compression=None,
            ping_interval=None,
            open_timeout=60,
        ) as line:
            answering: set[asyncio.Task[None]] = set()
            with suppress(websockets.ConnectionClosed):
                async for text in line:
                    now, message = time.time(), json.loads(text)
                    match message["kind"]:
                        case "state" if message["phase"] == "question":
                            question = message["question"]
                            if question["id"] not in self.seen:
                                self.seen[question["id"]] = now
                                answering.add(asyncio.create_task(self._answer(line, question)))
                        case "you":
                            if not self.player:
                                arrivals.release()
                            self.player = message["id"]
                        case "confirmed":
                            self._confirmed(message["question"], now, confirmed)
            for task in answering:
                task.cancel()

    async def _answer(self, line: ClientConnection, question: dict[str, Any]) -> None:
        await asyncio.sleep(self._chance.random() * self.seconds)
        raw: Any = self._chance.randint(1, 1000)
        if question["type"] == "single":
            raw = self._chance.choice(question["options"])["key"]
        elif question["type"] == "multiple":
            raw = [option["key"] for option in question["options"][: self._chance.randint(1, 3)]]
        self._sent[question["id"]] = time.time(), raw
        await line.send(json.dumps({"kind": "answer", "question": question["id"], "answer": raw, "ref": self.number}))

    def _confirmed(self, question: str, now: float, confirmed: dict[str, asyncio.Semaphore]) -> None:
        self.confirmations += 1
        at, raw = self._sent[question]
        self.waited[question] = now - at
        self.answered[question] = raw
        confirmed[question].release()


async def main(port: int, code: str, numbers: list[int], seconds: float, questions: list[str]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < (files := min(hard, 1 << 16)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    learners = [LearnerClient(port, code, number, seconds) for number in range(*numbers)]
    arrivals = asyncio.Semaphore(0)
    confirmed = {question: asyncio.Semaphore(0) for question in questions}
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(LearnerClient.join, learners))
    tasks = []
    for first in range(0, len(learners), TOGETHER * 4):
        some = learners[first : first + TOGETHER * 4]
        tasks += [asyncio.create_task(learner.play(arrivals, confirmed)) for learner in some]
        for _ in some:
            await asyncio.wait_for(arrivals.acquire(), PATIENCE)
    print(json.dumps({"there": len(learners)}), flush=True)
    for question in questions:
        with suppress(TimeoutError):
            await asyncio.wait_for(_all(confirmed[question], len(learners)), PATIENCE + seconds)
        summaries = [
            {
                "player": learner.player,
                "seen": learner.seen.get(question),
                "waited": learner.waited.get(question),
                "answer": learner.answered.get(question),
            }
            for learner in learners
        ]
        print(json.dumps({"question": question, "learners": summaries}), flush=True)
    await asyncio.wait(tasks, timeout=PATIENCE)
    print(json.dumps({"confirmations": sum(learner.confirmations for learner in learners)}), flush=True)


async def _all(semaphore: asyncio.Semaphore, count: int) -> None:
    for _ in range(count):
        await semaphore.acquire()


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))
