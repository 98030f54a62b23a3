"""The middleware that holds everybody to the limits, in front of a small application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from workshop.server import limit_middleware, request_body
from workshop.server.limit_middleware import SMALLEST, LimitMiddleware
from workshop.server.limits import Counts, Limit, ServerLimits
from workshop.store.records import Identity

ADA = Identity(1, "learner", "Ada", 1.0)
BOB, EVE = replace(ADA, id=3), replace(ADA, id=4)
TEACHER = Identity(2, "instructor", "Instructor", 1.0)
FILE = "/_stcore/upload_file/page/"


@dataclass
class App:
    """Answers when `go` is set, with `headers`."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    inside: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inside += 1
        await self.go.wait()
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.headers})
        await send({"type": "http.response.body", "body": b""})


@dataclass
class Server:
    limited: LimitMiddleware
    app: App

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

    async def wait_for(self, inside: int) -> None:
        async with asyncio.timeout(60):
            while self.app.inside < inside:
                await asyncio.sleep(0)


def run(test: Callable[[Server], Any], is_kept: Callable[[str, str], bool] = lambda *_: True, **limits: Any) -> None:
    async def inside() -> None:
        app = App()
        await test(Server(LimitMiddleware(app, ServerLimits(**limits), is_kept), app))

    asyncio.run(inside())


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_so_many_at_once_and_then_again(kind: str) -> None:
    async def test(server: Server) -> None:
        tasks = [asyncio.create_task(server.ask(identity=ADA, type=kind)) for _ in range(2)]
        await server.wait_for(2)
        refused = await server.ask(identity=ADA, type=kind)
        if kind == "http":
            assert refused["status"] == 429 and (b"retry-after", b"2") in refused["headers"]
        else:
            assert refused == {"type": "websocket.close", "code": 1013, "reason": refused["reason"]}
            assert "You have 2 things" in refused["reason"]
        assets = [asyncio.create_task(server.ask("/static/a.js", identity=ADA, type=kind))]
        others = [asyncio.create_task(server.ask(identity=BOB, type=kind)) for _ in range(2)]
        await server.wait_for(5)
        assert (await server.ask(identity=EVE, type=kind)).get("status", 1013) in (429, 1013), "the address has five"
        strangers = [asyncio.create_task(server.ask(type=kind)) for _ in range(2)]
        await server.wait_for(7)
        assert (await server.ask(type=kind)).get("status", 1013) in (429, 1013), "strangers have half as many"
        teachers = [asyncio.create_task(server.ask(identity=TEACHER, type=kind)) for _ in range(9)]
        await server.wait_for(16)
        server.app.go.set()
        await asyncio.gather(*tasks, *assets, *others, *strangers, *teachers)
        assert (await server.ask(identity=ADA, type=kind)).get("status", 200) == 200

    counts = Counts(Limit("things", 2, 5))
    run(test, **{"requests" if kind == "http" else "sockets": counts})


def test_a_class_behind_one_address_gets_in() -> None:
    async def test(server: Server) -> None:
        people = [Identity(number, "learner", f"learner {number}", 1.0) for number in range(1, 501)]
        sockets = [asyncio.create_task(server.ask(identity=one, type="websocket")) for one in people]
        requests = [asyncio.create_task(server.ask(identity=one)) for one in people]
        await server.wait_for(1000)
        server.app.go.set()
        assert {answer["type"] for answer in await asyncio.gather(*sockets)} == {"websocket.accept"}
        assert {answer["status"] for answer in await asyncio.gather(*requests)} == {200}

    run(test)


def test_uploads_have_a_total_for_each_person_as_long_as_they_are_kept() -> None:
    kept: set[str] = set()

    async def test(server: Server) -> None:
        async def upload(name: str, size: int | str, identity: Identity = ADA) -> int:
            return (await server.ask(FILE + name, "PUT", identity, headers={"content_length": str(size)}))["status"]

        server.app.go.set()
        kept.update("abcd")
        assert [await upload("a", 4 * SMALLEST), await upload("b", 4 * SMALLEST)] == [200, 200]
        assert await upload("c", 4 * SMALLEST) == 413
        assert [await upload("c", 1), await upload("d", 1)] == [200, 200]
        assert await upload("e", 1) == 413, "tiny files count, too"
        assert await upload("e", 1, TEACHER) == 200
        kept.remove("a")
        assert await upload("e", 3 * SMALLEST) == 200, "what the page forgot counts no more; this one wasn't kept"
        assert await upload("f", 4 * SMALLEST) == 200
        assert [await upload("g", ""), await upload("g", "-1"), await upload("g", "9" * 5000)] == [411] * 3
        chunked = {"content_length": "1", "transfer_encoding": "chunked"}
        assert (await server.ask(FILE + "g", "PUT", ADA, headers=chunked))["status"] == 411, "it may be longer"

    run(test, lambda _, file: file in kept, uploads=Counts(Limit("bytes", 10 * SMALLEST, 100 * SMALLEST)))


def test_a_strangers_body_takes_no_place_while_it_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "STRANGERS", 0.2)

    async def test(server: Server) -> None:
        server.app.go.set()
        sent: list[Message] = []

        async def never() -> Message:
            await asyncio.Event().wait()
            return {}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/join", "headers": [], "client": ("10.0.0.1", 5)}
        half = [asyncio.create_task(server.limited(scope, never, send)) for _ in range(20)]
        await asyncio.sleep(0)
        assert (await server.ask("/join"))["status"] == 200
        await asyncio.gather(*half)
        assert {message["status"] for message in sent if "status" in message} == {408}
        assert server.app.inside == 1

    run(test, requests=Counts(Limit("things", 2, 2)))


def test_files_of_a_page_that_was_closed_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"page/a"}
    monkeypatch.setattr(limit_middleware, "CLOSED", 0.0)
    monkeypatch.setattr(limit_middleware, "drop_closed", lambda sessions: kept.clear())

    async def test(server: Server) -> None:
        server.app.go.set()
        length = {"content_length": str(SMALLEST)}
        assert (await server.ask(FILE + "a", "PUT", ADA, headers=length))["status"] == 200
        assert server.limited.limits.uploads._taken
        await server.ask("/_stcore/stream", identity=ADA, type="websocket")
        async with asyncio.timeout(20):
            while server.limited.limits.uploads._taken:
                await asyncio.sleep(0)

    run(test, lambda session, file: f"{session}/{file}" in kept)
