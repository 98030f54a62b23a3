"""All limits of this server, for each person and for each network address.

A class often sits behind one address, so limits per address are those of a large class, and they refuse nobody who has
little of their own. Limits per identity hold for learners and players; the instructor has none, and doesn't count for
an address where it is known who they are. What is counted is in memory, so a restart forgets it.
"""

from __future__ import annotations

import ipaddress
import math
import os
import resource
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.server.auth import hashed
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store

MOST_WAITING = 1 << 15  # connections that wait, where this process may open any number of files
MOST_OF_ONE = 60  # connections of one person that wait; browsers open six
FACTOR = "WORKSHOP_PER_ADDRESS"  # a variable: so many times as much as below for each address, as behind a proxy
JOINS_AT_ONCE, JOINS_A_SECOND = 300, 8.0  # new names from one address
MOST_UNUSED = 500  # names of an address that have not opened a page; the oldest give way to new ones
NEW = 60.0  # seconds for which a name is new
MOST_KNOWN = 50_000  # identities whose addresses are remembered
_WHOSE = {
    "identity": "You have",
    "address": "Your network has",
    "strangers": "Visitors of your network who have not opened a page have",
}


class Line(Protocol):
    def give_way(self) -> None:
        """End the connection, which counts for nobody from now on."""


class Waiting:
    """Belongs to the event loop. Connections of one group are those of one person, or of an address's strangers."""

    def __init__(self, most: int | None = None) -> None:
        """`most` may wait in all; by default half of the files that this process may open."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = most or (MOST_WAITING if files == resource.RLIM_INFINITY else min(files // 2, MOST_WAITING))
        self._groups: dict[Hashable, OrderedDict[Line, None]] = {}
        self._group_of: dict[Line, Hashable] = {}

    def begin(self, line: Line, group: Hashable, most: int | None = None) -> None:
        """Let a connection wait as the newest of a group, which has `most`. In all, the largest group gives way."""
        self.end(line)
        self._groups.setdefault(group, OrderedDict())[line] = None
        self._group_of[line] = group
        if most is not None and len(self._groups[group]) > most:
            self.push_out(group)
        elif len(self._group_of) > self._most:
            self.push_out(max(self._groups, key=lambda name: len(self._groups[name])))

    def end(self, line: Line) -> None:
        """Take note that a connection does not wait any more."""
        group = self._group_of.pop(line, None)
        if group is not None:
            del self._groups[group][line]
            if not self._groups[group]:
                del self._groups[group]

    def push_out(self, group: Hashable) -> None:
        """End the connection of a group that has waited longest, if there is any."""
        if group in self._groups:
            oldest = next(iter(self._groups[group]))
            self.end(oldest)
            oldest.give_way()


@dataclass(frozen=True)
class Limit:
    """How much of something one identity, and one address, may have at a time; `what` is counted, in the plural. The
    limit of an address refuses nobody who would have no more than `few`."""

    what: str
    identity: int
    address: int
    few: int = 0


CONNECTIONS = Limit("connections", 1 << 30, 6000)
REQUESTS = Limit("requests at once", 60, 1000, few=12)
SOCKETS = Limit("open live pages", 40, 4000, few=8)
UPLOADS = Limit("bytes of uploaded files", 192 << 20, 2 << 30)
QUESTIONS = Limit("questions to the mapper at once", 2, 200)
SEATS = Limit("participants in this round", 1, 1000)
RUNS = Limit("unfinished runs", 1 << 30, 400)


class TooManyRequests(BadInput):
    """A person or an address has reached a limit."""


@dataclass(frozen=True)
class Who:
    """Somebody who asks: `identity` is what tells them from others (None: the instructor, or nobody known yet). The
    instructor has no `address` either. A `stranger` has not joined, or not opened a page since: all strangers of an
    address share half of what the address may have, and take nothing from others."""

    identity: Hashable | None
    address: str = ""
    stranger: bool = False


class Counts:
    """How much of something everybody has. Any thread may use it."""

    def __init__(self, limit: Limit) -> None:
        self.limit = replace(limit, address=limit.address * factor())
        self._taken: dict[tuple[str, Hashable], int] = {}
        self._lock = threading.Lock()

    def take(self, who: Who, amount: int = 1, besides: int = 0) -> None:
        """Take so much. Raises TooManyRequests where the limit would be exceeded, and takes nothing then. `besides` is
        the amount that is counted elsewhere."""
        with self._lock:
            of_identity = self._taken.get(("identity", who.identity), 0) + amount
            few = who.identity is not None and of_identity <= self.limit.few
            for key, most in self._keys(who):
                taken_before = self._taken.get(key, 0) + besides
                if taken_before + amount > most and not (few and key[0] == "address"):
                    raise TooManyRequests(
                        f"{_WHOSE[key[0]]} {taken_before:,} {self.limit.what}, and at most {most:,} are allowed."
                    )
            for key, _ in self._keys(who):
                self._taken[key] = self._taken.get(key, 0) + amount

    def give_back(self, who: Who, amount: int = 1) -> None:
        with self._lock:
            for key, _ in self._keys(who):
                remaining = self._taken.pop(key) - amount
                if remaining > 0:
                    self._taken[key] = remaining

    @contextmanager
    def reserve(self, who: Who, amount: int = 1, besides: int = 0) -> Iterator[None]:
        """Take something for as long as a block lasts. Raises TooManyRequests as `take` does."""
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
    """So many at once, and then so many a second, for each address; or for one line, whose address is ""."""

    def __init__(self, at_once: int, a_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.at_once, self.a_second, self.clock = at_once, a_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is left, and when that was counted

    def wait(self, address: str) -> float:
        """Take one: 0.0, or how many seconds to wait where there is none."""
        tokens = self._now(address)
        if tokens < 1:
            return (1 - tokens) / self.a_second
        self._keep(address, tokens - 1)
        return 0.0

    def give_back(self, address: str) -> None:
        """Give back a token that wasn't used."""
        self._keep(address, self._now(address) + 1)

    def _now(self, address: str) -> float:
        tokens, at = self._left.get(address, (float(self.at_once), self.clock()))
        return min(tokens + (self.clock() - at) * self.a_second, self.at_once)

    def _keep(self, address: str, tokens: float) -> None:
        self._left[address] = tokens, self.clock()
        self._left.move_to_end(address)
        if len(self._left) > MOST_KNOWN:
            self._left.popitem(last=False)


@dataclass
class ServerLimits:
    """All that is counted for one server."""

    connections: Counts = field(default_factory=lambda: Counts(CONNECTIONS))
    waiting: Waiting = field(default_factory=Waiting)  # those among the connections that may have to give way
    requests: Counts = field(default_factory=lambda: Counts(REQUESTS))
    sockets: Counts = field(default_factory=lambda: Counts(SOCKETS))
    uploads: Counts = field(default_factory=lambda: Counts(UPLOADS))
    questions: Counts = field(default_factory=lambda: Counts(QUESTIONS))
    participants: Counts = field(
        default_factory=lambda: Counts(SEATS)
    )  # of those on their way in, by round and address
    runs: Counts = field(default_factory=lambda: Counts(RUNS))
    joins: Rate = field(default_factory=lambda: Rate(JOINS_AT_ONCE * factor(), JOINS_A_SECOND * factor()))
    _addresses: OrderedDict[int, str] = field(default_factory=OrderedDict)  # of identities, the last one seen
    _persons: dict[int, int] = field(default_factory=dict)  # of an identity, the first one of the same browser
    _unused: dict[str, OrderedDict[int, None]] = field(default_factory=dict)  # names without a page, by address
    _logged_out: OrderedDict[str, int] = field(default_factory=OrderedDict)  # persons, by hashes of browsers' cookies

    def note(self, identity: Identity | None, address: str) -> Who:
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
        unused = identity is None or identity.id in self._unused.get(address, ())
        return Who(self._person(identity), address, stranger=unused)

    def joined(self, new: Identity, address: str) -> int | None:
        """Take note of a new name, which is a stranger's until it opens a page. Returns the oldest such name of its
        address where there are too many: it gives way."""
        if self._person(new) != new.id or time.time() - new.created_at > NEW:
            return None  # somebody who was here before
        unused = self._unused.setdefault(address, OrderedDict())
        unused[new.id] = None
        return unused.popitem(last=False)[0] if len(unused) > MOST_UNUSED * factor() else None

    def opened_page(self, identity: Identity, address: str) -> None:
        """Take note that somebody has a page, so that they are no stranger any more."""
        if unused := self._unused.get(address):
            unused.pop(identity.id, None)
            if not unused:
                del self._unused[address]

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
        who, of_person, of_address = self.who(identity), 0, 0
        for other, count in store.unfinished(session.id).items():
            of_person += count if self._persons.get(other, other) == who.identity else 0
            of_address += count if who.address and self._addresses.get(other) == who.address else 0
        if of_person >= session.limits.queued:
            runs = "run" if of_person == 1 else "runs"
            raise TooManyRequests(
                f"You have {of_person} unfinished {runs}, as many as this session allows, under all nicknames that you "
                "have had; wait for one or cancel it."
            )
        if of_address >= self.runs.limit.address:
            raise TooManyRequests(
                f"Your network has {of_address} unfinished runs, as many as are allowed; wait for some of them."
            )

    def _person(self, identity: Identity | None) -> int | None:
        if identity is None or identity.role == "instructor":
            return None
        return self._persons.get(identity.id, identity.id)


def network(address: str) -> str:
    """The key of an address: for IPv6, the network of one household or host (/64)."""
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
    value = os.environ.get(FACTOR, "1").strip()
    if not (value.isascii() and value.isdigit() and len(value) <= 4 and int(value) >= 1):
        raise BadInput(f"{FACTOR} is {value[:40]!r}; it should be a whole number from 1 to 9999.")
    return int(value)


def later(seconds: float) -> str:
    """The message for a visitor who has to wait so long to join."""
    wait = words.count(math.ceil(seconds), "second")
    return f"Very many people have just joined from your network; please try again in {wait}."


@cache
def shared() -> ServerLimits:
    """The limits of this process's server. Raises BadInput as `factor` does."""
    return ServerLimits()
