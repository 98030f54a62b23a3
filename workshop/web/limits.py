"""How much of something each person may ask for in a window of time, and each network address before sign-in. The
instructor has no limits. The counts are in memory, so a restart forgets them."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from collections.abc import Hashable
from functools import cache

from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from workshop.core.errors import BadInput
from workshop.store.records import Identity

REQUESTS = RateLimitItemPerMinute(3000, namespace="requests of a person")
VISITS = RateLimitItemPerMinute(6000, namespace="requests of visitors")  # of one address, for a large class that joins
WRONG_CODES = RateLimitItemPerMinute(600, namespace="wrong codes")  # of one address
UPLOADS = RateLimitItemPerHour(256, namespace="megabytes of files")
SOCKETS = 40  # open live pages of one person
QUESTIONS = 2  # questions of one person to the mapper at once


class TooManyRequests(BadInput):
    """A person or an address has reached a limit."""


class Shares:
    """How much everybody has at once of something with a plural such as "open live pages". Any thread may use it."""

    def __init__(self, plural: str, most: int) -> None:
        self._plural, self._most = plural, most
        self._counts = Counter[Hashable]()
        self._lock = threading.Lock()

    def take(self, person: Hashable) -> None:
        """Take one; None is the instructor, who has no limit. Raises TooManyRequests."""
        with self._lock:
            if person is not None and self._counts[person] >= self._most:
                raise TooManyRequests(
                    f"You have {self._counts[person]} {self._plural}, and at most {self._most} are allowed."
                )
            self._counts[person] += 1

    def give_back(self, person: Hashable) -> None:
        with self._lock:
            self._counts[person] -= 1
            if not self._counts[person]:
                del self._counts[person]


def person(identity: Identity) -> int | None:
    """The key of a person, which is None for the instructor: a class must not keep the instructor out."""
    return None if identity.role == "instructor" else identity.id


def hit(item: RateLimitItem, key: Hashable, cost: int = 1) -> bool:
    """Count something for a person, an address or another key. Returns False, and counts nothing, over the limit."""
    return _windows().hit(item, str(key), cost=cost)


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


@cache
def _windows() -> MovingWindowRateLimiter:
    return MovingWindowRateLimiter(MemoryStorage())
