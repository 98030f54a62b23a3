"""Whose memory runs out is told host by host."""

from __future__ import annotations

import socket

from workshop.session.channel import Host
from workshop.session.watch import full_host

GIB = 2**30
ROOMY = Host(20 * GIB, 32 * GIB, frozenset({0}))


def test_a_host_that_has_no_memory_left_is_named() -> None:
    hosts = {"hostA": ROOMY, "hostB": Host(GIB // 2, 16 * GIB, frozenset({1, 2}))}
    found = full_host(hosts, {0: GIB, 1: 4 * GIB, 2: 3 * GIB})
    assert found is not None
    host, words = found
    assert host == "hostB"
    assert words == ("the memory of hostB ran out: its ranks hold 7.0 of 16.0 GiB; take fewer ranks there or less data")


def test_hosts_with_memory_left_are_let_be() -> None:
    assert full_host({}, {}) is None
    assert full_host({"hostA": ROOMY, "hostB": Host(GIB, 16 * GIB, frozenset({1}))}, {}) is None


def test_this_host_is_asked_directly() -> None:
    """What its ranks told may be old."""
    assert full_host({socket.gethostname(): Host(0, 16 * GIB, frozenset({0}))}, {0: GIB}) is None
