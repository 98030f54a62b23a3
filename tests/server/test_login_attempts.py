"""Codes are looked at in turns: wrong ones wait, right ones get in."""

from __future__ import annotations

import asyncio

from workshop.server.code_form import Attempts, TooManyAttempts

FOR_EVER = 600.0


async def attempt(attempts: Attempts, right: bool, seen: list[bool], address: str = "here") -> bool:
    """Whether a code was looked at; `seen` gets whether it came after others' wrong ones."""
    try:
        async with attempts.turn(address) as turn:
            seen.append(turn.waited)
            await asyncio.sleep(0)  # as a database is asked
            turn.right = right
    except TooManyAttempts:
        return False
    return True


def test_wrong_codes_that_come_at_once_are_not_all_looked_at() -> None:
    async def main() -> None:
        attempts, seen = Attempts(20, FOR_EVER, 0.2), list[bool]()
        looked = await asyncio.gather(*(attempt(attempts, False, seen) for _ in range(200)))
        assert sum(looked) == len(seen) == 20
        assert not await attempt(attempts, True, seen), "nor is a right one, while nobody gives a turn back"
        assert await attempt(attempts, True, seen, "elsewhere")

    asyncio.run(main())


def test_right_codes_cost_nothing() -> None:
    async def main() -> None:
        attempts, seen = Attempts(20, FOR_EVER, 60), list[bool]()
        assert all(await asyncio.gather(*(attempt(attempts, True, seen) for _ in range(2000))))
        assert not attempts._turns, "nothing is kept of whoever was right"

    asyncio.run(main())


def test_a_right_code_gets_in_behind_wrong_ones() -> None:
    async def main() -> None:
        attempts, seen = Attempts(20, 0.05, 60), list[bool]()
        wrong = [asyncio.create_task(attempt(attempts, False, seen)) for _ in range(200)]
        await asyncio.sleep(0)
        assert await attempt(attempts, True, seen)
        assert seen[:20] == [False] * 20 and all(seen[20:])
        await asyncio.gather(*wrong)
        while attempts._turns:  # until the last wrong ones are forgotten
            await asyncio.sleep(0.02)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_who_gives_up_waiting_takes_nobodys_turn() -> None:
    async def main() -> None:
        attempts, seen = Attempts(1, 0.05, 60), list[bool]()
        async with attempts.turn("here") as turn:
            waiting = asyncio.create_task(attempt(attempts, True, seen))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            turn.right = True
        assert not attempts._turns
        assert await attempt(attempts, True, seen)

    asyncio.run(main())
