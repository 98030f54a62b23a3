"""How much one person, and everybody behind one network address, may ask of this server: all limits, in one place.

A class often sits behind one address, so limits per address are those of a large class. Limits per identity hold for
learners and players; the instructor has none, and doesn't count for an address where it is known who they are. What is
counted is in memory, so a restart forgets it.
"""

from __future__ import annotations

import ipaddress
import math
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache

from workshop.core.errors import BadInput
from workshop.server.auth import hashed
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store

FACTOR = "WORKSHOP_PER_ADDRESS"  # a variable: so many times as much as below for each address, as behind a proxy
JOINS_AT_ONCE, JOINS_A_SECOND = 500, 5.0  # new names from one address
MOST_KNOWN = 50_000  # identities whose addresses are remembered


@dataclass(frozen=True)
class Limit:
    """How much of something one identity, and one address, may have at a time; `what` is counted, in the plural."""

    what: str
    identity: int
    address: int


CONNECTIONS = Limit("connections", 1 << 30, 6000)
REQUESTS = Limit("requests at once", 60, 1000)
SOCKETS = Limit("open live pages", 40, 4000)
UPLOADS = Limit("bytes of uploaded files", 192 << 20, 2 << 30)
QUESTIONS = Limit("questions to the mapper at once", 2, 200)
SEATS = Limit("seats in this round", 1, 1000)
RUNS = Limit("unfinished runs", 1 << 30, 400)


class TooManyRequests(BadInput):
    """A person or an address has reached a limit."""


@dataclass(frozen=True)
class Who:
    """Somebody who asks: `identity` is what tells them from others (None: the instructor, or nobody known yet). The
    instructor has no `address` either. A `stranger` has not joined: all strangers of an address share half of what the
    address may have, and take nothing from those who have joined."""

    identity: Hashable | None
    address: str = ""
    stranger: bool = False


_WHOSE = {
    "identity": "You have",
    "address": "Your network has",
    "strangers": "Visitors of your network who have not joined have",
}


class Counts:
    """How much of something everybody has. Any thread may use it."""

    def __init__(self, limit: Limit) -> None:
        self.limit = replace(limit, address=limit.address * factor())
        self._taken: dict[tuple[str, Hashable], int] = {}
        self._lock = threading.Lock()

    def take(self, who: Who, amount: int = 1, besides: int = 0) -> None:
        """Raises TooMany where somebody would have more than they may; nothing is taken then. `besides`: so much they
        have that is counted somewhere else."""
        with self._lock:
            for key, most in self._keys(who):
                there = self._taken.get(key, 0) + besides
                if there + amount > most:
                    raise TooManyRequests(
                        f"{_WHOSE[key[0]]} {there:,} {self.limit.what}, and at most {most:,} are allowed."
                    )
            for key, _ in self._keys(who):
                self._taken[key] = self._taken.get(key, 0) + amount

    def give_back(self, who: Who, amount: int = 1) -> None:
        with self._lock:
            for key, _ in self._keys(who):
                left = self._taken.pop(key) - amount
                if left > 0:
                    self._taken[key] = left

    @contextmanager
    def held(self, who: Who, amount: int = 1, besides: int = 0) -> Iterator[None]:
        """Take something for as long as a block lasts. Raises TooMany as `take` does."""
        self.take(who, amount, besides)
        try:
            yield
        finally:
            self.give_back(who, amount)

    def _keys(self, who: Who) -> list[tuple[tuple[str, Hashable], int]]:
        keys = [] if who.identity is None else [(("identity", who.identity), self.limit.identity)]
        if who.address and who.stranger:
            keys.append((("strangers", who.address), max(self.limit.address // 2, 1)))
        elif who.address:
            keys.append((("address", who.address), self.limit.address))
        return keys


class Rate:
    """So many at once, and then so many a second, for each address."""

    def __init__(self, at_once: int, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.at_once, self.a_second, self.clock = at_once, a_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was counted

    def wait(self, address: str) -> float:
        """Take one: 0.0, or how many seconds to wait where there is none."""
        left = self._now(address)
        if left < 1:
            return (1 - left) / self.a_second
        self._keep(address, left - 1)
        return 0.0

    def give_back(self, address: str) -> None:
        """One that was taken came to nothing."""
        self._keep(address, self._now(address) + 1)

    def _now(self, address: str) -> float:
        left, at = self._left.get(address, (float(self.at_once), self.clock()))
        return min(left + (self.clock() - at) * self.a_second, self.at_once)

    def _keep(self, address: str, left: float) -> None:
        self._left[address] = left, self.clock()
        self._left.move_to_end(address)
        if len(self._left) > MOST_KNOWN:
            self._left.popitem(last=False)


@dataclass
class ServerLimits:
    """All that is counted for one server."""

    connections: Counts = field(default_factory=lambda: Counts(CONNECTIONS))
    requests: Counts = field(default_factory=lambda: Counts(REQUESTS))
    sockets: Counts = field(default_factory=lambda: Counts(SOCKETS))
    uploads: Counts = field(default_factory=lambda: Counts(UPLOADS))
    questions: Counts = field(default_factory=lambda: Counts(QUESTIONS))
    seats: Counts = field(default_factory=lambda: Counts(SEATS))  # of those on their way in, by round and address
    runs: Counts = field(default_factory=lambda: Counts(RUNS))
    joins: Rate = field(default_factory=lambda: Rate(JOINS_AT_ONCE * factor(), JOINS_A_SECOND * factor()))
    _addresses: OrderedDict[int, str] = field(default_factory=OrderedDict)  # of identities, the last one seen
    _persons: dict[int, int] = field(default_factory=dict)  # of an identity, the first one of the same browser
    _logged_out: OrderedDict[str, int] = field(default_factory=OrderedDict)  # persons, by hashes of browsers' cookies

    def seen(self, identity: Identity | None, address: str) -> Who:
        """Take note of where somebody is; returns who asks."""
        address = network(address)
        if identity is not None:
            self._addresses[identity.id] = address
            self._addresses.move_to_end(identity.id)
            if len(self._addresses) > MOST_KNOWN:
                gone, _ = self._addresses.popitem(last=False)
                self._persons.pop(gone, None)
        if identity is not None and identity.role == "instructor":
            return Who(None)  # what a class does, or somebody beside it, must not keep the instructor out
        return Who(self._person(identity), address, stranger=identity is None)

    def who(self, identity: Identity) -> Who:
        """Somebody who was seen before."""
        if identity.role == "instructor":
            return Who(None)
        return Who(self._person(identity), self._addresses.get(identity.id, ""))

    def same_person(self, new: Identity, before: Identity | None, cookie: str | None = None) -> None:
        """Take note that a browser which had an identity, or the `cookie` of one that was logged out, got another one:
        another nickname renews no limit."""
        person = self._person(before)
        if before is None and cookie:
            person = self._logged_out.get(hashed(cookie))
        if person is not None and new.id != person:
            self._persons[new.id] = person

    def logged_out(self, identity: Identity, cookie: str) -> None:
        """Take note of the cookie that the browser of somebody has from now on who has logged out."""
        if (person := self._person(identity)) is not None:
            self._logged_out[hashed(cookie)] = person
            if len(self._logged_out) > MOST_KNOWN:
                self._logged_out.popitem(last=False)

    def check_run(self, store: Store, session: SessionRecord, identity: Identity) -> None:
        """Refuse a run where a learner under any nickname, or everybody at their address, has too many unfinished runs.
        Raises TooManyRequests."""
        if identity.role != "learner":
            return
        who, mine, theirs = self.who(identity), 0, 0
        for other, count in store.unfinished(session.id).items():
            mine += count if self._persons.get(other, other) == who.identity else 0
            theirs += count if who.address and self._addresses.get(other) == who.address else 0
        if mine >= session.limits.queued:
            runs = "run" if mine == 1 else "runs"
            raise TooManyRequests(
                f"You have {mine} unfinished {runs}, as many as this session allows, under all nicknames that you have "
                "had; wait for one or cancel it."
            )
        if theirs >= self.runs.limit.address:
            raise TooManyRequests(
                f"Your network has {theirs} unfinished runs, as many as are allowed; wait for some of them."
            )

    def _person(self, identity: Identity | None) -> int | None:
        if identity is None or identity.role == "instructor":
            return None
        return self._persons.get(identity.id, identity.id)


def network(address: str) -> str:
    """What counts as one address: all of a network of IPv6 that one household or host has (/64)."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(read, ipaddress.IPv4Address):
        return str(read)
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return str(ipaddress.ip_network((read, 64), strict=False))


def factor() -> int:
    """The factor for all limits per address. Raises BadInput for other values."""
    given = os.environ.get(FACTOR, "1").strip()
    if not (given.isascii() and given.isdigit() and len(given) <= 4 and int(given) >= 1):
        raise BadInput(f"{FACTOR} is {given[:40]!r}; it should be a whole number from 1 to 9999.")
    return int(given)


def later(seconds: float) -> str:
    """What somebody is told who has to wait so long to join."""
    return (
        f"Very many people have just joined from your network; please try again in {math.ceil(seconds)} "
        f"{'second' if math.ceil(seconds) == 1 else 'seconds'}."
    )


@cache
def shared() -> ServerLimits:
    """The limits of this process's server. Raises BadInput as `factor` does."""
    return ServerLimits()
