"""A class behind one address, over real sockets: 60 learners come in and answer while somebody there attacks."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
import websockets

from benchmarks.dashboard import served
from tests.conftest import leftovers
from tests.support import limit, need, starts_processes
from tests.web.dashboard import Dashboard
from tests.web.quiz.players import begin, line
from workshop.store.records import QuizRound
from workshop.store.store import Store

HOST = "127.0.0.1"
LEARNERS = 60
JOINED, ANSWERED = 10.0, 1.0  # seconds on an idle machine, see `scaled`
HALF_JOINS, IDLE, JOINERS, NICKNAMES, HALF_SENT = 520, 6050, 4, 20, 60
LONGEST = 120.0  # seconds that an attack may last


def scaled(seconds: float) -> float:
    """What `seconds` are on this machine: it does the attack's work and the class's, too."""
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

    async def begun(self, text: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(HOST, self.dashboard.port)
        writer.write(text)
        return reader, writer

    async def ask(self, method: str, path: str, cookie: str = "", body: bytes = b"") -> tuple[int, str, bytes]:
        """An answer's status, cookie and body, on a connection of its own."""
        more = {"Connection": "close", "Accept": "text/html", "Content_Length": str(len(body))}
        more["Content_Type"] = "application/x-www-form-urlencoded"
        reader, writer = await self.begun(self.head(method, path, cookie, **more) + body)
        try:
            answer = await asyncio.wait_for(reader.read(), limit(60))
        finally:
            writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        if not head:
            raise ConnectionResetError("the server closed the connection without an answer")
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

    def __str__(self) -> str:
        figures = (self.joining, max(self.pages), max(self.answers), max(self.instructor))
        return f"{self.joined} of {LEARNERS} | " + " | ".join(f"{seconds:.2f}" for seconds in figures)


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


Attack = Callable[[School, list[asyncio.StreamWriter]], Awaitable[None]]


async def attack_with_half_joins(school: School, lines: list[asyncio.StreamWriter]) -> None:
    text = school.head("POST", "/join", Content_Length="10000") + b"code="
    for _ in range(HALF_JOINS):
        lines.append((await school.begun(text))[1])
    asyncio.get_running_loop().call_later(9, lambda: [line.write(b"a") for line in lines])


async def attack_with_idle_connections(school: School, lines: list[asyncio.StreamWriter]) -> None:
    for _ in range(IDLE // 50):
        lines += [writer for _, writer in await asyncio.gather(*(school.begun(b"") for _ in range(50)))]


async def attack_with_joins(school: School, lines: list[asyncio.StreamWriter]) -> None:
    async def keep_joining(thread: int) -> None:
        for number in range(10_000):
            with suppress(OSError):
                await school.join(f"Zed {thread} {number}")

    tasks = [asyncio.create_task(keep_joining(thread)) for thread in range(JOINERS)]
    _under_way.update(tasks)
    began = time.monotonic()
    while time.monotonic() < began + 15:  # meanwhile all that may join at once do
        await asyncio.sleep(0.1)


async def attack_with_nicknames(school: School, lines: list[asyncio.StreamWriter]) -> None:
    for number in range(NICKNAMES):
        cookie = await school.join(f"Zed {number}")
        for _ in range(HALF_SENT):
            text = school.head("POST", "/leave", cookie, Content_Length="10000") + b"who="
            lines.append((await school.begun(text))[1])


_under_way: set[asyncio.Task[None]] = set()


@asynccontextmanager
async def attacked(school: School, attack: Attack | None) -> AsyncIterator[None]:
    lines: list[asyncio.StreamWriter] = []
    if attack is not None:
        await asyncio.wait_for(attack(school, lines), limit(LONGEST))
    try:
        yield
    finally:
        for task in _under_way:
            task.cancel()
        await asyncio.gather(*_under_way, return_exceptions=True)
        _under_way.clear()
        for one in lines:
            one.transport.abort()


async def hold_class(school: School, record: QuizRound, attack: Attack | None, instructor: str,
                     begin_question: Callable[[], Any]) -> Seconds:  # fmt: skip
    seen, question, ready = Seconds(), asyncio.Event(), asyncio.Semaphore(0)
    async with attacked(school, attack):
        since = time.perf_counter()
        looking = asyncio.create_task(look_in(school, instructor, seen))
        tasks = [
            asyncio.create_task(attend(school, record, number, seen, since, question, ready))
            for number in range(LEARNERS)
        ]

        async def all_ready() -> None:
            for _ in tasks:
                await ready.acquire()
            await asyncio.to_thread(begin_question)
            question.set()

        opening = asyncio.create_task(all_ready())
        try:
            async with asyncio.timeout(limit(LONGEST)):
                await asyncio.gather(*tasks)
        finally:
            for task in (*tasks, opening, looking):
                task.cancel()
            ends = await asyncio.gather(looking, opening, *tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                raise end
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


ATTACKS = [
    None,
    attack_with_half_joins,
    attack_with_joins,
    attack_with_nicknames,
    attack_with_idle_connections,
]


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__ if one else "nobody attacks")
def test_sixty_learners_come_in_and_answer(school: School, attack: Attack | None) -> None:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    need(files[1] > 2 * IDLE, f"{2 * IDLE} open files, and {files[1]} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    dashboard = school.dashboard
    record, instructor = begin(dashboard), dashboard.instructor()
    with line(instructor, record, "host") as host:
        seen = asyncio.run(hold_class(school, record, attack, instructor.cookie, lambda: host.do("next", "question")))
    name = attack.__name__.removeprefix("attack_with_") if attack else "none"
    print(f"| {name}{', proxy' if school.forwarded else ''} | {seen} |")
    assert seen.joined == LEARNERS and seen.joining < scaled(JOINED)
    assert max([*seen.pages, *seen.answers, *seen.instructor]) < scaled(ANSWERED)
