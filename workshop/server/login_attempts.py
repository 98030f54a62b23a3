"""Codes that people type, looked at in turns: guessing is slow, and a right code still gets in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

AT_ONCE = 20  # codes of one address that are looked at, or were wrong a moment ago
# A wrong code keeps its turn for so many seconds: 20 guesses a second against a billion codes, about a one in two
# thousand chance in eight hours.
FIRST_PAUSE = 1.0
# Seconds that a code waits for its turn: two thousand who join a round at once all get theirs.
LONGEST = 30.0


class TooManyAttempts(Exception):
    """So many codes of an address wait that this one was not looked at."""


@dataclass
class LoginTurn:
    """One check of a code. The caller sets `right`; `waited` says that as many attempts as allowed came before it."""

    waited: bool
    right: bool = False


class Attempts:
    """Turns by address, taken before a code is looked at. Right ones are given back at once, so that a whole class
    comes in from behind one address; wrong ones are kept a while, so that others wait, and only the wrong are told so.
    Belongs to the event loop."""

    def __init__(self, at_once: int = AT_ONCE, pause: float = FIRST_PAUSE, longest: float = LONGEST) -> None:
        self.at_once, self.kept, self.longest = at_once, pause, longest
        self._turns: dict[str, tuple[asyncio.Semaphore, int]] = {}  # and how many hold or wait for one

    @asynccontextmanager
    async def turn(self, address: str) -> AsyncIterator[LoginTurn]:
        """Look at a code within the block. Raises TooManyAttempts where its turn doesn't come in time."""
        turns, users = self._turns.get(address, (asyncio.Semaphore(self.at_once), 0))
        self._turns[address] = turns, users + 1
        waited = users >= self.at_once
        try:
            await asyncio.wait_for(turns.acquire(), self.longest)
        except BaseException as error:
            self._forget(address)
            if isinstance(error, TimeoutError):
                raise TooManyAttempts from None
            raise
        turn = LoginTurn(waited)
        try:
            yield turn
        finally:
            if turn.right:
                self._give_back(address)
            else:
                asyncio.get_running_loop().call_later(self.kept, self._give_back, address)

    def _give_back(self, address: str) -> None:
        self._turns[address][0].release()
        self._forget(address)

    def _forget(self, address: str) -> None:
        """One less uses an address's turns; nothing is kept of an address that nobody uses."""
        turns, users = self._turns.pop(address)
        if users > 1:
            self._turns[address] = turns, users - 1
