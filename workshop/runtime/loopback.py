"""Closes the listening sockets of a launcher on one machine to other hosts.

The ranks of such a session use shared memory, and our servers listen on loopback. The launchers of Open MPI, MPICH and
Intel MPI always listen on all addresses. So their sockets are bound to the loopback device from outside, which the
kernel allows to everybody who may trace a process; it then drops packets from other hosts. See pidfd_getfd(2), and
SO_BINDTODEVICE in socket(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

import psutil

DEVICE = b"lo"
PIDFD_GETFD = 438  # the number of the call, on every architecture
NAME = 16  # bytes of a device's name, at most
FIX = "Let a firewall refuse other hosts; in a container, allow pidfd_getfd (Docker: --cap-add=SYS_PTRACE)."
# A program that listens, on loopback, until somebody closes its input.
LISTENS = "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.fileno(), flush=True); input()"


def close_ports(listeners: Iterable[psutil.Process]) -> list[int]:
    """Close to other hosts what these processes listen on. Returns the ports that stay open, in order."""
    return _ports_after(listeners, close=True)


def open_ports(listeners: Iterable[psutil.Process]) -> list[int]:
    """The ports on which other hosts can reach these processes, in order; none for an ended process."""
    return _ports_after(listeners, close=False)


def allowed() -> bool:
    """Whether the kernel lets this process close the ports of a process that it starts."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", LISTENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as listens:
        assert listens.stdout is not None, "it is a pipe"
        try:
            return _closed(listens.pid, int(listens.stdout.readline()), close=True)
        finally:
            listens.kill()


def _ports_after(listeners: Iterable[psutil.Process], close: bool) -> list[int]:
    listening = {(process.pid, fd, port) for process in listeners for fd, port in _listening(process)}
    return sorted({port for pid, fd, port in listening if not _closed(pid, fd, close)})


def _listening(process: psutil.Process) -> Iterator[tuple[int, int]]:
    """The sockets on which a process listens at more than loopback: descriptor and port."""
    try:
        connections = process.net_connections("inet")
    except (psutil.Error, OSError):  # it has ended, or is somebody else's
        return
    for connection in connections:
        if (
            connection.status == psutil.CONN_LISTEN
            and not ip_address(connection.laddr.ip.partition("%")[0]).is_loopback
        ):
            yield connection.fd, connection.laddr.port


def _closed(pid: int, descriptor: int, close: bool) -> bool:
    """Whether a socket receives from loopback only; with `close`, after an attempt to achieve that."""
    try:
        with socket.socket(fileno=_duplicate(pid, descriptor)) as ours:
            if close:
                with contextlib.suppress(OSError):
                    ours.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, DEVICE)
            return ours.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, NAME).rstrip(b"\0") == DEVICE
    except ProcessLookupError:
        return True  # what has ended doesn't listen
    except OSError:
        return False


def _duplicate(pid: int, descriptor: int) -> int:
    """Another process's descriptor as one of ours. Raises OSError where the kernel doesn't allow it."""
    process = os.pidfd_open(pid)
    try:
        ours: int = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, descriptor, 0)
        if ours < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return ours
    finally:
        os.close(process)
