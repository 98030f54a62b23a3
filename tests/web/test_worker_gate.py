"""The gate for heavy work: few at once, a share for everybody, and what nobody waits for any more isn't begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from workshop.core.errors import BadInput
from workshop.web.limits import TooManyRequests
from workshop.web.worker_gate import Gate

ADA, BOB = 1, 2


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """An event that work waits for; set at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def test_everybody_has_a_share(held: threading.Event) -> None:
    one = Gate(workers=1)
    first, second = one.begin(ADA, held.wait), one.begin(ADA, lambda: 2)
    with pytest.raises(TooManyRequests, match="You have 2 questions"):
        one.begin(ADA, lambda: 3)
    other = one.begin(BOB, lambda: 4)
    assert not (first.done() or second.done() or other.done()), "one at a time"
    held.set()
    assert (second.result(60), other.result(60)) == (2, 4)
    assert one.wait(ADA, lambda: 5, 60) == 5, "what is done counts no more"


def test_there_are_so_many_places(held: threading.Event) -> None:
    one = Gate(share=100, workers=1, most=2)
    for _ in range(3):
        one.begin(ADA, held.wait)
    with pytest.raises(TooManyRequests, match="busy"):
        one.begin(BOB, lambda: 1)


def test_some_places_are_for_live_rounds(held: threading.Event) -> None:
    one = Gate(share=100, workers=1, most=2, reserved=1)
    first = [one.begin(ADA, held.wait) for _ in range(2)]
    with pytest.raises(TooManyRequests, match="busy"):
        one.begin(BOB, lambda: 1)
    last = one.begin(BOB, lambda: 2, reserved=True)
    with pytest.raises(TooManyRequests, match="busy"):
        one.begin(BOB, lambda: 3, reserved=True)
    held.set()
    assert [future.result(60) for future in (*first, last)] == [True, True, 2]
    assert asyncio.run(one.do(BOB, lambda: 4)) == 4, "places are given back"


def test_whoever_does_not_wait_any_more_takes_their_work_back(held: threading.Event) -> None:
    one, done = Gate(workers=1), []
    one.begin(BOB, held.wait)
    with pytest.raises(TooManyRequests, match="busy"):
        one.wait(ADA, lambda: done.append(1), 0.05)

    async def leave() -> None:
        task = asyncio.create_task(one.do(ADA, lambda: done.append(2)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    held.set()
    assert one.wait(ADA, lambda: 3, 60) == 3 and done == []


def test_what_goes_wrong_is_told_and_counts_no_more() -> None:
    def fail() -> None:
        raise BadInput("No.")

    one = Gate(share=1)
    for _ in range(3):
        with pytest.raises(BadInput, match="No"):
            asyncio.run(one.do(ADA, fail))
        with pytest.raises(BadInput, match="No"):
            one.wait(ADA, fail, 60)
