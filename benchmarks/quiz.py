"""How many learners a live round of a quiz bears: answers within 10 s, and 500 of them within 1 s.

From an answer to its confirmation, from the instructor's "next" to everybody's screen, and whether every confirmed
answer is in the store, once. A real dashboard serves real WebSocket clients, which are in processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlencode

import websockets

from benchmarks import Document, Row, document, machine, say
from benchmarks.dashboard import HOST, PATIENCE, host, joined, served
from benchmarks.processes import own_state
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.quiz.deck import Deck, ask
from workshop.store.store import Store
from workshop.web.auth import new_secrets
from workshop.web.quiz import rounds

SECONDS = 10.0  # within which learners answer
BURST = (500, 1.0)  # so many, within so many seconds
OF_A_PROCESS = 700  # learners
DECK = Deck.model_validate({
    "deck": "bench", "title": "Bench", "seconds": 600,
    "questions": [
        {"id": "single", "type": "single", "text": "Which of these waits for all ranks?",
         "options": [{"text": "Allreduce", "right": True}, {"text": "Rank"}, {"text": "Print"}, {"text": "Import"}]},
        {"id": "number", "type": "number", "text": "How many ranks are there?", "answer": 4},
        {"id": "multiple", "type": "multiple", "text": "Which of these are collective?",
         "options": [{"text": "Bcast", "right": True}, {"text": "Gather", "right": True}, {"text": "Send"}]},
    ],
})  # fmt: skip


def run(learners: tuple[int, ...] = (130, 500, 2000)) -> Document:
    """Play a round for each number of learners, and one of a burst; returns the document. Raises WorkshopError."""
    where, rows = machine(("streamlit", "uvicorn", "websockets")), []
    for count, seconds in [*((count, SECONDS) for count in learners), BURST]:
        say(f"{count} learners answer within {seconds:g} s.")
        rows.append(play(count, seconds))
    return document(where, rows)


def play(count: int, seconds: float) -> Row:
    """A whole round on a server of its own: the confirmed answers beside those in the store."""
    with own_state(), Store.open() as store, served() as (_, port), ExitStack() as stack:
        token, _ = new_secrets(store)
        record = rounds.host(store, DECK)
        crowds = []
        for first in range(0, count, OF_A_PROCESS):
            wishes = [port, record.code, first, min(first + OF_A_PROCESS, count), seconds]
            command = guarded([sys.executable, "-m", "benchmarks.quiz", json.dumps(wishes)])
            crowds.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True))
            stack.callback(crowds[-1].wait)
            stack.callback(crowds[-1].kill)
        asked_at = {}
        with host(port, token, record.id) as instructor:
            for crowd in crowds:
                _line(crowd)  # its learners are in the round
            for question in DECK.questions:
                asked_at[question.id] = instructor.do("next", "question")
                deadline = time.monotonic() + PATIENCE + seconds
                while len(store.answers(record.id, question.id)) < count and time.monotonic() < deadline:
                    time.sleep(0.5)
                instructor.do("close", "closed")
                instructor.do("explain", "explained")
            instructor.do("end", "ended")
        learners = [learner for crowd in crowds for learner in json.loads(_line(crowd))]
        stored = store.answers(record.id)
    answers = {(answer.question, answer.player_id): answer.answer for answer in stored}
    lost, waits, screens, confirmations = 0, [], [], 0
    for learner in learners:
        confirmations += learner["confirmations"]
        screens += [seen - asked_at[question] for question, seen in learner["seen"].items()]
        for question, (waited, raw) in learner["confirmed"].items():
            waits.append(waited)
            drawn = ask(DECK, DECK.question(question), record.seed)
            lost += answers.get((question, learner["player"])) != drawn.question.read(drawn, raw)
    if not waits:
        raise WorkshopError("No answer was confirmed at all; the dashboard's log says why.")
    p95_answer, p95_next = (sorted(values)[int(0.95 * (len(values) - 1))] for values in (waits, screens))
    doubled = len(stored) - len(answers) + confirmations - len(waits)
    facts = {"learners": count, "seconds": seconds, "screens": len(screens), "confirmed": len(waits), "lost": lost}
    facts |= {"stored": len(stored), "doubled": doubled, "p95_answer_s": p95_answer, "p95_next_s": p95_next}
    told = f"s to a confirmation; {p95_next:.3f} s to a screen; {len(waits)} confirmed, {lost} lost, {doubled} doubled"
    name = f"{count} learners, answers within {seconds:g} s"
    return {"name": name, "value": p95_answer, "unit": told, **facts, "max_answer_s": max(waits)}


def _line(crowd: subprocess.Popen[str]) -> str:
    if not crowd.stdout or not (line := crowd.stdout.readline()):
        raise WorkshopError(f"A process of learners ended with {crowd.wait(10)}; see what it said above.")
    return line


async def learn(port: int, number: int, seconds: float, cookie: str, path: str, there: asyncio.Barrier) -> Any:
    """A learner: answers each question after a while, until the round has ended. Returns what it saw."""
    chance, sent, answering = random.Random(number), {}, []
    found: dict[str, Any] = {"player": 0, "seen": {}, "confirmed": {}, "confirmations": 0}

    async def answer(question: dict[str, Any]) -> None:
        await asyncio.sleep(chance.random() * seconds)
        keys = [option["key"] for option in question.get("options", [])]
        raw: Any = {"single": keys[0], "multiple": keys[:2]}.get(question["type"]) if keys else chance.randint(1, 1000)
        sent[question["id"]] = time.time(), raw
        await line.send(json.dumps({"kind": "answer", "question": question["id"], "answer": raw, "ref": number}))

    address, origin = f"ws://{HOST}:{port}{path}/socket?view=player", f"http://{HOST}:{port}"
    options: dict[str, Any] = {"origin": origin, "compression": None, "ping_interval": None, "open_timeout": 60}
    async with websockets.connect(address, additional_headers={"Cookie": cookie}, **options) as line:
        with suppress(websockets.ConnectionClosed):
            async for text in line:
                now, message = time.time(), json.loads(text)
                if message["kind"] == "you" and not found["player"]:
                    found["player"] = message["id"]
                    answering.append(asyncio.create_task(there.wait()))
                elif message["kind"] == "confirmed":
                    at, raw = sent[message["question"]]
                    found["confirmations"] += 1
                    found["confirmed"][message["question"]] = now - at, raw
                elif message["kind"] == "state" and message["phase"] == "ended":
                    return found
                elif message["kind"] == "state" and message["phase"] == "question":
                    question = message["question"]
                    if found["seen"].setdefault(question["id"], now) == now:
                        answering.append(asyncio.create_task(answer(question)))
    return found


async def main(port: int, code: str, first: int, last: int, seconds: float) -> None:
    """Learners `first` to `last` - 1: they join by code, as on phones. A line says that they are there, one what they
    saw."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 1 << 16)), hard))
    forms = [urlencode({"code": code, "nickname": f"Learner {number}"}) for number in range(first, last)]
    with ThreadPoolExecutor(8) as pool:
        doors = list(pool.map(lambda form: joined(port, "/quiz", form, form), forms))
    there = asyncio.Barrier(len(doors) + 1)
    tasks = []
    for number, door in enumerate(doors, first):
        tasks.append(asyncio.create_task(learn(port, number, seconds, *door, there)))
        await asyncio.sleep(0.002)  # as people come, not all at the same instant
    await there.wait()
    print("there", flush=True)
    print(json.dumps(await asyncio.gather(*tasks)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*json.loads(sys.argv[1])))
