"""Ports for servers that are started in a moment."""

from __future__ import annotations

import contextlib
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
    a port before the server starts. Raises WorkshopError where there are too few.
    """
    first, last = map(int, _BY_CHANCE.read_text().split())  # see ip(7)
    candidates = [port for port in range(LOWEST, 1 << 16) if not first <= port <= last]
    _random.shuffle(candidates)
    ports: list[int] = []
    with contextlib.ExitStack() as sockets:
        for port in [*candidates, *[0] * count]:  # any, where the kernel gives all of them
            probe = sockets.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # somebody has it
                probe.bind((address, port))
                ports.append(probe.getsockname()[1])
            if len(ports) == count:
                return ports
    raise WorkshopError(
        f"{address} has {len(ports)} free ports of the {count} that are needed; end some servers, or give another "
        "address of this machine."
    )


def free_port() -> int:
    """A free port of this machine's loopback address."""
    return free_ports(1)[0]
