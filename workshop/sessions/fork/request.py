"""A launcher's arguments and variables for a rank. The rank's stub sends them to the server that forks the rank."""

from __future__ import annotations

import hmac
import os
import select
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

WAIT = 10.0  # seconds within which a stub must have told all
LARGEST_REQUEST = 8 << 20  # bytes of what it tells
MOST_DESCRIPTORS = 250  # descriptors; the kernel passes 253 at once


@dataclass(frozen=True)
class Request:
    """A request for a forked rank."""

    folder: str
    descriptors: dict[int, int]  # the number that it has for the launcher -> the one that it has here
    cores: frozenset[int]
    mask: int  # of the modes of new files
    arguments: list[str]
    variables: dict[bytes, bytes]

    def close(self) -> None:
        """Close its descriptors here."""
        _close(self.descriptors.values())


def read(line: socket.socket, token: bytes) -> Request:
    """Take in a request from a stub of this user that knows the token. Raises OSError, ValueError for anything else."""
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if user != os.geteuid():
        raise PermissionError("The stub of a rank belongs to another user.")
    line.settimeout(WAIT)
    head, received, flags, _ = socket.recv_fds(line, 8, MOST_DESCRIPTORS)
    try:
        if len(head) != 8 or flags & socket.MSG_CTRUNC:
            raise ValueError("The stub of a rank sent no request.")
        request = parsed(_received(line, int.from_bytes(head, "big")), received, token)
        _expect_stub(line)
        return request
    except BaseException:
        _close(received)
        raise


def parsed(body: bytes, received: list[int], token: bytes) -> Request:
    """A request from its fields, which NUL parts, and the descriptors that came with it. Raises ValueError."""
    fields = body.split(b"\0")
    if not hmac.compare_digest(fields[0], token):
        raise ValueError("The stub of a rank sent another token.")
    folder, numbers, cores, mask, count, *words = fields[1:]
    launcher_numbers = [int(number) for number in numbers.split(b",")]
    variables = dict(word.partition(b"=")[::2] for word in words[int(count) :])
    return Request(
        os.fsdecode(folder),
        dict(zip(launcher_numbers, received, strict=True)),
        frozenset(int(core) for core in cores.split(b",")),
        int(mask),
        [os.fsdecode(word) for word in words[: int(count)]],
        variables,
    )


def _received(line: socket.socket, length: int) -> bytes:
    if length > LARGEST_REQUEST:
        raise ValueError(f"The stub of a rank announced {length} bytes; it should be at most {LARGEST_REQUEST}.")
    body = bytearray()
    while len(body) < length:
        more = line.recv(length - len(body))
        if not more:
            raise ConnectionError("The stub of a rank hung up.")
        body += more
    return bytes(body)


def _expect_stub(line: socket.socket) -> None:
    """Raises ConnectionError where the stub has hung up: it has waited for too long, and is a rank itself by now."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    if poll.poll(0) and not line.recv(1, socket.MSG_PEEK):
        raise ConnectionError("The stub of a rank hung up.")


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
