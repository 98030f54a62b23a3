"""A class behind one address, over real sockets: 60 learners come in and answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
import websockets

from benchmarks.dashboard import served
from tests.conftest import leftovers
from tests.support import limit, starts_processes
from tests.web.dashboard import Dashboard
from tests.web.quiz.players import begin, line
from workshop.store.records import QuizRound
from workshop.store.store import Store

HOST = "127.0.0.1"
LEARNERS = 60
JOINED, ANSWERED = 10.0, 1.0  # seconds on an idle machine, see `scaled`
LONGEST = 120.0  # seconds


def scaled(seconds: float) -> float:
    """What `seconds` are on this machine: it does the class's work, too."""
    return seconds * limit(1000) / 1000


@dataclass
class School:
    """A dashboard, and the address of a class's visitors as a proxy tells it ("": there is no proxy)."""

    dashboard: Dashboard
    forwarded: str = ""

    def head(self, method: str, path: str, cookie: str = "", **more: str) -> bytes:
        headers = {"Host": f"{HOST}:{self.dashboard.port}", **self.headers(cookie)}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    def headers(self, cookie: str = "") -> dict[str, str]:
        return {
            **({"X-Forwarded-For": self.forwarded} if self.forwarded else {}),
            **({"Cookie": cookie} if cookie else {}),
        }

    async def ask(self, method: str, path: str, cookie: str = "", body: bytes = b"") -> tuple[int, str, bytes]:
        """An answer's status, cookie and body, on a connection of its own."""
        more = {"Connection": "close", "Accept": "text/html", "Content_Length": str(len(body))}
        more["Content_Type"] = "application/x-www-form-urlencoded"
        reader, writer = await asyncio.open_connection(HOST, self.dashboard.port)
        writer.write(self.head(method, path, cookie, **more) + body)
        try:
            answer = await asyncio.wait_for(reader.read(), limit(60))
        finally:
            writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        status, *headers = head.decode("latin-1").split("\r\n")
        cookies = [text.partition(": ")[2] for text in headers if text.lower().startswith("set-cookie:")]
        return int(status.split()[1]), cookies[0].partition(";")[0] if cookies else "", rest

    async def join(self, nickname: str) -> str:
        """The cookie of somebody who has joined the class; "": the server refused."""
        form = urlencode({"code": self.dashboard.code, "nickname": nickname}).encode()
        status, cookie, _ = await self.ask("POST", "/join", body=form)
        return cookie if status == 303 else ""


@dataclass
class Seconds:
    """What the class saw."""

    joined: int = 0
    joining: float = 0.0
    pages: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    instructor: list[float] = field(default_factory=list)


async def timed(into: list[float], done: Awaitable[Any]) -> Any:
    since = time.perf_counter()
    result = await done
    into.append(time.perf_counter() - since)
    return result


async def attend(school: School, record: QuizRound, number: int, seen: Seconds, since: float, open_: asyncio.Event,
                 ready: asyncio.Semaphore) -> None:  # fmt: skip
    """What a learner does: join, load the page, take a seat in the round, hold a socket, answer."""
    cookie = await school.join(f"Learner {number}")
    assert cookie, "this learner was not let in"
    seen.joined += 1
    seen.joining = max(seen.joining, time.perf_counter() - since)
    status, _, page = await timed(seen.pages, school.ask("GET", "/", cookie))
    assert status == 200 and b"<html" in page
    form = urlencode({"code": record.code or "", "nickname": f"Learner {number}"}).encode()
    assert (await school.ask("POST", "/quiz", cookie, form))[0] == 303
    port = school.dashboard.port
    address, origin = f"ws://{HOST}:{port}/quiz/{record.id}/socket?view=player", f"http://{HOST}:{port}"
    async with websockets.connect(
        address, additional_headers=school.headers(cookie), origin=origin, open_timeout=limit(20)
    ) as socket:
        await heard(socket, "state")
        ready.release()
        await open_.wait()

        async def answer() -> None:
            await socket.send(json.dumps({"kind": "answer", "question": "one", "answer": "a", "ref": 1}))
            await heard(socket, "confirmed")

        await timed(seen.answers, answer())


async def heard(socket: Any, kind: str) -> None:
    async with asyncio.timeout(limit(30)):
        while json.loads(await socket.recv())["kind"] != kind:
            pass


async def look_in(school: School, cookie: str, seen: Seconds) -> None:
    """The instructor, who loads a page twice a second."""
    while True:
        status, *_ = await timed(seen.instructor, school.ask("GET", "/session", cookie))
        assert status == 200
        await asyncio.sleep(0.5)


async def hold_class(school: School, record: QuizRound, instructor: str, begin_question: Callable[[], Any]) -> Seconds:
    seen, question, ready = Seconds(), asyncio.Event(), asyncio.Semaphore(0)
    since = time.perf_counter()

    async def open_when_all_are_in() -> None:
        for _ in range(LEARNERS):
            await ready.acquire()
        await asyncio.to_thread(begin_question)
        question.set()

    async with asyncio.timeout(limit(LONGEST)):
        looking = asyncio.create_task(look_in(school, instructor, seen))
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(open_when_all_are_in())
                for number in range(LEARNERS):
                    group.create_task(attend(school, record, number, seen, since, question, ready))
        finally:
            looking.cancel()
            (end,) = await asyncio.gather(looking, return_exceptions=True)
    assert isinstance(end, asyncio.CancelledError), end
    return seen


@pytest.fixture(scope="module", params=["", "10.9.8.7"], ids=["direct", "proxy"])
@starts_processes
def school(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[School]:
    home = tmp_path_factory.mktemp("class") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        with Store.open() as store, served(proxy=HOST if request.param else "") as (process, port):
            yield School(Dashboard(store, process, port), request.param)
        assert not leftovers(home)


@pytest.mark.real
@pytest.mark.exhaustive
def test_sixty_learners_come_in_and_answer(school: School) -> None:
    dashboard = school.dashboard
    record, instructor = begin(dashboard), dashboard.instructor()
    with line(instructor, record, "host") as host:
        seen = asyncio.run(hold_class(school, record, instructor.cookie, lambda: host.do("next", "question")))
    assert seen.joined == LEARNERS and seen.joining < scaled(JOINED)
    assert max([*seen.pages, *seen.answers, *seen.instructor]) < scaled(ANSWERED)
