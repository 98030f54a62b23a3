"""Limits: what is counted under which address, and the middleware in front of a small application. A right code lets in
whatever came before it; only wrong ones are limited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from limits import RateLimitItemPerHour
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from tests.web.dashboard import Visitor
from tests.web.serving import served
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import limits
from workshop.web.auth import new_secrets
from workshop.web.auth_middleware import cookie_name
from workshop.web.code_form import Join
from workshop.web.limits import LimitMiddleware, hit


def test_a_window_counts_for_each_key() -> None:
    megabytes = RateLimitItemPerHour(4, namespace="test")
    assert all(hit(megabytes, 1) for _ in range(4)) and not hit(megabytes, 1) and hit(megabytes, 2)


ADA = Identity(1, "learner", "Ada", 1.0)
BOB = replace(ADA, id=3)
TEACHER = Identity(2, "instructor", "Instructor", 1.0)


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small windows without counts."""
    for name, most in (("REQUESTS", 20), ("VISITS", 2)):
        monkeypatch.setattr(limits, name, RateLimitItemPerHour(most, namespace=name))
    limits.WINDOWS.storage.reset()
    yield
    limits.WINDOWS.storage.reset()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def ask(path: str = "/", method: str = "GET", identity: Identity | None = None, type: str = "http") -> Message:
    """The first message of the answer."""
    sent: list[Message] = []
    scope = {"type": type, "method": method, "path": path, "headers": [], "client": ("10.0.0.1", 5)}

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await LimitMiddleware(app)({**scope, "state": {"identity": identity}}, receive, send)
    return sent[0]


def test_a_person_and_the_visitors_of_an_address_have_so_many_requests() -> None:
    async def main() -> None:
        assert [(await ask("/join"))["status"] for _ in range(3)] == [200, 200, 429]
        assert (await ask("/join", "POST"))["status"] == 200, "a code is read"
        answers = [await ask(identity=ADA) for _ in range(21)]
        assert [answer["status"] for answer in answers] == [200] * 20 + [429], "a member never counts for an address"
        assert (b"retry-after", b"10") in answers[-1]["headers"]
        assert (await ask(identity=ADA, type="websocket"))["code"] == 1013
        assert (await ask(identity=BOB))["status"] == (await ask(identity=TEACHER))["status"] == 200

    asyncio.run(main())


def test_a_right_code_lets_in_behind_wrong_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WRONG_CODES", RateLimitItemPerHour(3, namespace="test"))
    limits.WINDOWS.storage.reset()
    _, code = new_secrets(store)

    def guess(visitor: Visitor, text: str) -> int:
        return visitor.post("/join", {"code": text, "nickname": "Ada"}).status

    with served(store, lambda port: [Route("/join", Join(store, cookie_name(port)).respond, methods=["POST"])]) as port:
        assert [guess(Visitor(port), "AAAAAA") for _ in range(5)] == [403] * 3 + [429] * 2
        ada = Visitor(port)
        assert guess(ada, code) == 303
        assert guess(ada, "AAAAAA") == 403, "a member doesn't count for the address"
    limits.WINDOWS.storage.reset()
