"""What somebody on the line is sent, at their own pace; and how much they may send."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from workshop.web.quiz.round import DONT_COME_BACK, Client, dumps


class Slow:
    """A line that takes one message whenever it is let."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.closed: int | None = None
        self.gate = asyncio.Semaphore(0)

    async def send_text(self, text: str) -> None:
        await self.gate.acquire()
        self.taken.append(text)

    async def close(self, code: int, why: str) -> None:
        self.closed = code


async def _let(line: Slow, messages: int) -> None:
    for _ in range(messages):
        line.gate.release()
    for _ in range(20):
        await asyncio.sleep(0)


def test_who_is_slow_gets_the_newest_and_all_that_was_told() -> None:
    async def play() -> None:
        line: Any = Slow()
        client = Client(line, "player")
        sending = asyncio.create_task(client.send())
        client.show("state", "state 1")
        await _let(line, 0)  # it is being sent, and nobody takes it
        for number in range(2, 9):
            client.show("state", f"state {number}")
            client.show("you", f"you {number}")
        client.tell(kind="confirmed", ref=1)
        client.tell(kind="confirmed", ref=2)
        await _let(line, 10)
        assert [text for text in line.taken if text.startswith("s")] == ["state 1", "state 8"]
        assert [text for text in line.taken if text.startswith("y")] == ["you 8"]
        assert [json.loads(text)["ref"] for text in line.taken if text.startswith("{")] == [1, 2]
        client.show("state", "the end")
        client.tell(kind="ended")
        client.close("over")
        await asyncio.wait_for(sending, 5)
        assert line.taken[-2:] == ["the end", '{"kind":"ended"}'] and line.closed == DONT_COME_BACK

    asyncio.run(play())


def test_nothing_overtakes_the_state_that_it_belongs_to() -> None:
    async def play() -> None:
        line: Any = Slow()
        client = Client(line, "player")
        sending = asyncio.create_task(client.send())
        for number in (1, 2):
            client.show("you", f"you {number}")
            client.show("state", f"state {number}")
            await _let(line, 0)  # the first state is being sent, and nobody takes it
        await _let(line, 10)
        assert line.taken == ["state 1", "you 1", "state 2", "you 2"]
        client.close("over")
        await asyncio.wait_for(sending, 5)

    asyncio.run(play())


def test_who_has_answered_is_not_told_after_the_next_state() -> None:
    async def play() -> None:
        line: Any = Slow()
        client = Client(line, "host")
        sending = asyncio.create_task(client.send())
        client.show("state", "state 1")
        await _let(line, 0)
        for kind in ("count", "players"):
            client.show(kind, f"{kind} 1")
        client.show("state", "state 2")
        await _let(line, 10)
        assert line.taken == ["state 1", "state 2"]
        client.show("count", "count 2")
        await _let(line, 0)
        assert line.taken[2:] == ["count 2"]
        client.close("over")
        await asyncio.wait_for(sending, 5)

    asyncio.run(play())


def test_half_a_surrogate_pair_can_be_sent() -> None:
    assert dumps({"a": "\ud83d"}).encode("utf-8") == b'{"a":"\\ud83d"}'
