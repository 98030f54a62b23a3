"""Ports for servers that are started in a moment."""

from __future__ import annotations

import contextlib
import errno
import random
import socket
from pathlib import Path

from workshop.core.errors import WorkshopError

HERE = "127.0.0.1"
LOWEST = 10_240  # below it are servers that have a number of their own
_BY_CHANCE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_random = random.SystemRandom()  # whoever sets the common one's seed doesn't make two processes choose the same


def free_ports(count: int, address: str = HERE) -> list[int]:
    """Free ports of an address of this machine, all different.

    The kernel gives no connection one of these ports, unless it uses nearly all ports: another program could take such
    a port before the server starts. Raises WorkshopError where there are too few, or the address isn't one of this
    machine.
    """
    first, last = _given_by_chance()
    candidates = [port for port in range(LOWEST, 1 << 16) if not first <= port <= last]
    _random.shuffle(candidates)
    ports: list[int] = []
    with contextlib.ExitStack() as sockets:
        for port in [*candidates, *[0] * count]:  # any, where the kernel gives all of them
            if len(ports) == count:
                break
            probe = sockets.enter_context(socket.socket())
            try:
                probe.bind((address, port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise WorkshopError(f"Nobody can listen at {address} ({error.strerror or error}).") from error
                probe.close()
            else:
                ports.append(probe.getsockname()[1])
    if len(ports) < count:
        raise WorkshopError(f"{address} has {len(ports)} free ports of the {count} that are needed; end some servers.")
    return ports


def free_port() -> int:
    """A free port of this machine's loopback address."""
    return free_ports(1)[0]


def _given_by_chance() -> tuple[int, int]:
    """The first and the last port of the range from which the kernel chooses ports for connections (ip(7))."""
    try:
        first, last = map(int, _BY_CHANCE.read_text().split())
    except (OSError, ValueError):
        return 32_768, 60_999  # the kernel's default
    return first, last
