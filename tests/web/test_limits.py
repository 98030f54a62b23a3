"""Limits: what is counted, and under which address."""

from __future__ import annotations

import pytest
from limits import RateLimitItemPerHour

from workshop.web import limits
from workshop.web.limits import hit, network


def test_a_window_counts_for_each_key() -> None:
    limits._windows.cache_clear()
    megabytes = RateLimitItemPerHour(4, namespace="test")
    assert all(hit(megabytes, 1) for _ in range(4)) and not hit(megabytes, 1) and hit(megabytes, 2)


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
