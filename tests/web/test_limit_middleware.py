"""The middleware that holds everybody to the limits, in front of a small application."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from limits import RateLimitItemPerHour
from starlette.types import Message, Receive, Scope, Send

from workshop.store.records import Identity
from workshop.web import limits
from workshop.web.limit_middleware import AT_ONCE, LimitMiddleware

ADA = Identity(1, "learner", "Ada", 1.0)
BOB = replace(ADA, id=3)
TEACHER = Identity(2, "instructor", "Instructor", 1.0)
FILE = "/_stcore/upload_file/page/file"


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small windows without counts."""
    for name, most in (("REQUESTS", 20), ("VISITS", 2), ("UPLOADS", 8)):
        monkeypatch.setattr(limits, name, RateLimitItemPerHour(most, namespace=name))
    limits._windows.cache_clear()
    yield
    limits._windows.cache_clear()


@dataclass
class App:
    """Answers when `go` is set."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    inside: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
        await self.go.wait()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Server:
    app: App = field(default_factory=App)
    limited: LimitMiddleware = field(init=False)

    def __post_init__(self) -> None:
        self.limited = LimitMiddleware(self.app)

    async def ask(self, path: str = "/", method: str = "GET", identity: Identity | None = None, **more: Any) -> Message:
        """The first message of the answer."""
        sent: list[Message] = []
        headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in more.pop("headers", {}).items()]
        scope = {"type": "http", "method": method, "path": path, "headers": headers, "client": ("10.0.0.1", 5)}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.limited({**scope, "state": {"identity": identity}, **more}, receive, send)
        return sent[0]

    async def begin(self, count: int, inside: int, **ask: Any) -> list[asyncio.Task[Message]]:
        """Requests that have begun once so many are inside."""
        tasks = [asyncio.create_task(self.ask(**ask)) for _ in range(count)]
        async with asyncio.timeout(60):
            while self.app.inside < inside:
                await asyncio.sleep(0)
        return tasks


def test_few_requests_of_a_person_are_served_at_once_and_others_wait_for_them() -> None:
    async def main() -> None:
        server = Server()
        tasks = await server.begin(AT_ONCE + 3, AT_ONCE, identity=ADA)
        tasks += await server.begin(1, AT_ONCE + 1, path="/static/a.js", identity=ADA)
        tasks += await server.begin(1, AT_ONCE + 2, identity=BOB)
        tasks += await server.begin(9, AT_ONCE + 11, identity=TEACHER)
        assert server.app.inside == AT_ONCE + 11
        server.app.go.set()
        assert {answer["status"] for answer in await asyncio.gather(*tasks)} == {200}

    asyncio.run(main())


def test_a_person_and_the_visitors_of_an_address_have_so_many_requests() -> None:
    async def main() -> None:
        server = Server()
        server.app.go.set()
        assert [(await server.ask("/join"))["status"] for _ in range(3)] == [200, 200, 429]
        assert (await server.ask("/join", "POST"))["status"] == 200, "a code is read"
        answers = [await server.ask(identity=ADA) for _ in range(21)]
        assert [answer["status"] for answer in answers] == [200] * 20 + [429], "a member never counts for an address"
        assert (b"retry-after", b"10") in answers[-1]["headers"]
        assert (await server.ask(identity=BOB))["status"] == (await server.ask(identity=TEACHER))["status"] == 200

    asyncio.run(main())


def test_a_person_has_so_many_open_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SOCKETS", 2)

    async def main() -> None:
        server = Server()
        tasks = await server.begin(2, 2, identity=ADA, type="websocket")
        refused = await server.ask(identity=ADA, type="websocket")
        assert refused == {"type": "websocket.close", "code": 1013, "reason": refused["reason"]}
        assert "You have 2 open live pages" in refused["reason"]
        tasks += await server.begin(9, 11, identity=TEACHER, type="websocket")
        server.app.go.set()
        await asyncio.gather(*tasks)
        assert (await server.ask(identity=ADA, type="websocket"))["type"] == "websocket.accept"

    asyncio.run(main())


def test_uploads_have_a_total_for_each_person_and_tell_their_length() -> None:
    async def main() -> None:
        server = Server()
        server.app.go.set()

        async def upload(identity: Identity, **headers: str) -> int:
            return (await server.ask(FILE, "PUT", identity, headers=headers))["status"]

        assert [await upload(ADA, content_length=str(4_000_000)) for _ in range(3)] == [200, 200, 413]
        assert await upload(BOB, content_length=str(9 << 20)) == 413 and await upload(BOB, content_length="1") == 200
        assert await upload(TEACHER, content_length=str(9 << 20)) == 200
        assert [await upload(BOB, content_length=wrong) for wrong in ("", "-1", "9" * 5000)] == [411] * 3
        assert await upload(BOB, content_length="1", transfer_encoding="chunked") == 411, "it may be longer"

    asyncio.run(main())
