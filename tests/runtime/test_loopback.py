"""Ports of other processes are closed to other hosts: real sockets, whose options the kernel tells."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from tests.support import need
from workshop.core import processes
from workshop.core.placement import Placement
from workshop.runtime import lifecycle, loopback
from workshop.store.store import Store

pytestmark = pytest.mark.real

SERVER = """
import socket
servers = [socket.create_server(("0.0.0.0", 0)), socket.create_server(("127.0.0.1", 0))]
print(*[server.getsockname()[1] for server in servers], flush=True)
while True:
    line, _ = servers[0].accept()
    line.sendall(b"here")
"""


@pytest.fixture
def server() -> Iterator[tuple[psutil.Process, int]]:
    """A process that listens at all addresses on one port, and on loopback at another."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as started:
        everywhere, _ = started.stdout.readline().split()
        yield psutil.Process(started.pid), int(everywhere)
        started.kill()


def test_a_port_is_closed_to_other_hosts_and_stays_open_here(server: tuple[psutil.Process, int]) -> None:
    need(loopback.allowed(), "this kernel doesn't give the descriptors of other processes away")
    process, port = server
    assert loopback.open_ports([process]) == [port]
    assert loopback.close_ports([process]) == []
    assert loopback.open_ports([process]) == []
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        assert line.recv(4) == b"here"


def test_what_may_not_be_closed_is_told(server: tuple[psutil.Process, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "PIDFD_GETFD", 1 << 20)  # a call that no kernel has
    process, port = server
    assert loopback.close_ports([process]) == [port]
    assert not loopback.allowed()


def test_whoever_starts_a_session_is_warned(store: Store) -> None:
    session = store.create_session("open", Placement().as_json())
    assert lifecycle.open_to_others(session) == ""
    tagged = os.environ | {processes.TAG: processes.session_tag(session.id)}
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, env=tagged) as started:
        port = started.stdout.readline().split()[0]
        warning = lifecycle.open_to_others(session)
        started.kill()
    assert warning.startswith(
        f"Other hosts can reach this session: its processes listen on all addresses (port {port})"
    )
    assert warning.endswith(loopback.FIX)


def test_what_has_ended_has_no_ports() -> None:
    with subprocess.Popen(["true"]) as ended:
        process = psutil.Process(ended.pid)
    assert loopback.close_ports([process]) == []
