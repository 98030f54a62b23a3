"""What ranks tell each other: files on their way between institutions and the authority, and how each rank is.

Everything is exchanged at once, in every turn of all ranks, so that no rank ever waits for a message by itself: a stop,
or what goes wrong on one rank, reaches all of them within a turn. Messages are JSON and plain bytes.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

LENGTH = 8  # bytes in front of a header


class Mailbox:
    """One rank's letter box."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self._going: list[tuple[int, str, bytes]] = []  # to whom, about what
        self._here: dict[str, deque[bytes]] = defaultdict(deque)

    def send(self, rank: int, subject: str, data: bytes) -> None:
        """Have bytes delivered in the next exchange; to ourselves, too."""
        self._going.append((rank, subject, data))

    def take(self, subject: str) -> bytes | None:
        """The oldest message about something that has arrived, if any."""
        found = self._here.get(subject)
        return found.popleft() if found else None

    def wait(self, subject: str) -> Generator[None, None, bytes]:
        """Yield until there is a message about something, and return it."""
        while (found := self.take(subject)) is None:
            yield
        return found

    def exchange(self, told: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Deliver what is on its way, and return what every rank has `told`, as JSON has it. Collective."""
        mine = np.frombuffer(pack(told, self._going), np.uint8)
        self._going = []
        sizes = np.empty(self.comm.size, np.int64)
        self.comm.Allgather(np.array([len(mine)], np.int64), sizes)
        everything = np.empty(int(sizes.sum()), np.uint8)
        self.comm.Allgatherv(mine, [everything, sizes.tolist()])
        found, at = [], 0
        for size in sizes.tolist():
            said, mail = unpack(everything[at : at + size].tobytes())
            at += size
            found.append(said)
            for rank, subject, data in mail:
                if rank == self.comm.rank:
                    self._here[subject].append(data)
        return found


def pack(told: Mapping[str, Any], mail: list[tuple[int, str, bytes]]) -> bytes:
    """A header in JSON, its length before it, and the messages behind it."""
    header = {"told": dict(told), "mail": [[rank, subject, len(data)] for rank, subject, data in mail]}
    text = json.dumps(header).encode()
    return b"".join([len(text).to_bytes(LENGTH, "big"), text, *(data for _, _, data in mail)])


def unpack(data: bytes) -> tuple[dict[str, Any], list[tuple[int, str, bytes]]]:
    """What `pack` has packed."""
    at = LENGTH + int.from_bytes(data[:LENGTH], "big")
    header = json.loads(data[LENGTH:at])
    mail = []
    for rank, subject, size in header["mail"]:
        mail.append((rank, subject, data[at : at + size]))
        at += size
    return header["told"], mail
