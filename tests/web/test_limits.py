"""Limits: what is counted, and under which address."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import anyio
import pytest
from limits import RateLimitItemPerHour
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from workshop.web import limits
from workshop.web.limits import hit, network


def test_a_window_counts_for_each_key() -> None:
    limits.WINDOWS.storage.reset()
    megabytes = RateLimitItemPerHour(4, namespace="test")
    assert all(hit(megabytes, 1) for _ in range(4)) and not hit(megabytes, 1) and hit(megabytes, 2)


def test_a_learner_sends_some_files_an_hour_and_the_instructor_any() -> None:
    limits.WINDOWS.storage.reset()

    def status(role: str) -> int:
        states: list[int] = []

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await PlainTextResponse("taken")(scope, receive, send)

        async def send(message: Message) -> None:
            states.append(message.get("status", 0))

        scope = {"type": "http", "method": "PUT", "path": f"{limits.UPLOAD_PATH}1/2", "headers": []}
        scope |= {"state": {"identity": SimpleNamespace(id=1, role=role)}}
        asyncio.run(limits.LimitMiddleware(answer)(scope, anyio.sleep_forever, send))
        return states[0]

    assert {status("learner") for _ in range(limits.UPLOADS.amount)} == {200}
    assert status("learner") == 429 and status("instructor") == 200


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_what_is_one_address(address: str, counted: str) -> None:
    assert network(address) == counted
