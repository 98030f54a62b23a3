"""Limits: shares are given back, windows move, and the instructor has no limits."""

from __future__ import annotations

import pytest
from limits import RateLimitItemPerHour

from workshop.store.records import Identity
from workshop.web import limits
from workshop.web.limits import Shares, TooManyRequests, hit, network, person


def test_everybody_has_a_share_and_gives_it_back() -> None:
    shares = Shares("things", 2)
    for _ in range(2):
        shares.take("Ada")
    with pytest.raises(TooManyRequests, match="You have 2 things, and at most 2 are allowed"):
        shares.take("Ada")
    shares.take("Bob")
    for _ in range(9):
        shares.take(None)
    for key, count in (("Ada", 2), ("Bob", 1), (None, 9)):
        for _ in range(count):
            shares.give_back(key)
    assert not shares._counts


def test_a_window_counts_for_each_key() -> None:
    limits._windows.cache_clear()
    megabytes = RateLimitItemPerHour(4, namespace="test")
    assert hit(megabytes, 1, 3) and not hit(megabytes, 1, 2), "what is refused is not counted"
    assert hit(megabytes, 1) and not hit(megabytes, 1) and hit(megabytes, 2, 4) and not hit(megabytes, 3, 5)


def test_the_instructor_has_no_limits() -> None:
    assert person(Identity(7, "instructor", "Instructor", 1.0)) is None
    assert person(Identity(7, "learner", "Ada", 1.0)) == 7


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
