"""Pushing: everybody gets what is new, once, however slow they are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

from workshop.core.errors import WorkshopError
from workshop.web.live import Hub, Topic


class Counting:
    """A look at a number that grows; tells how often somebody looked."""

    every = 0.01

    def __init__(self) -> None:
        self.looks = 0
        self.fails = False

    def __call__(self) -> Mapping[str, str]:
        self.looks += 1
        if self.fails:
            raise WorkshopError("The store is gone.")
        return {"still": '"same"', "count": str(self.looks // 5)}


def content(text: str) -> dict[str, object]:
    return json.loads(text)["sections"]


def test_newcomers_get_all_others_what_is_new() -> None:
    topic = Topic()
    topic.update({"a": "1", "b": "2"})
    assert content(topic.message(0)) == {"a": 1, "b": 2}
    seen = topic.version
    topic.update({"a": "1", "b": "3"})
    assert content(topic.message(seen)) == {"b": 3}
    topic.update({"a": "4"})
    assert content(topic.message(seen)) == {"a": 4, "b": 3}, "a slow viewer gets the newest of everything"
    assert content(topic.message(0)) == {"a": 4, "b": 3}


def test_the_same_again_is_no_news() -> None:
    topic = Topic()
    topic.update({"a": "1"})
    before = topic.version
    topic.update({"a": "1"})
    assert topic.version == before


def test_one_poller_serves_all_and_ends_with_the_last() -> None:
    looks: list[Counting] = []

    def make() -> Counting:
        looks.append(Counting())
        return looks[-1]

    async def viewer(hub: Hub, changes: int) -> list[object]:
        seen, got = 0, []
        async with hub.watch("thing", make) as topic:
            while len(got) < changes:
                await topic.wait(seen)
                message, seen = topic.message(seen), topic.version
                got.append(content(message).get("count"))
        return got

    async def main() -> None:
        hub = Hub()
        fast, slow = await asyncio.gather(viewer(hub, 8), viewer(hub, 4))
        assert len(looks) == 1
        assert fast[:4] == slow == [0, 1, 2, 3]
        done = looks[0].looks
        await asyncio.sleep(0.1)
        assert looks[0].looks == done, "nobody watches, nobody polls"
        await viewer(hub, 1)
        assert len(looks) == 2

    asyncio.run(main())


def test_what_goes_wrong_is_told_and_passes() -> None:
    look = Counting()

    async def main() -> None:
        async with Hub().watch("thing", lambda: look) as topic:
            await topic.wait(0)
            look.fails = True
            problem = None
            while not problem:
                version = topic.version
                await topic.wait(version)
                problem = content(topic.message(version)).get("problem")
            assert problem == "The store is gone."
            look.fails = False
            while problem:
                version = topic.version
                await topic.wait(version)
                problem = content(topic.message(version)).get("problem", problem)

    asyncio.run(asyncio.wait_for(main(), 10))
