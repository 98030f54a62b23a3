"""Emulated hosts of a test's own, and sessions on them that the test drives from outside: they share its files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.sessions import Session
from tests.support import limit, need
from workshop.demo import namespaces
from workshop.demo.hosts import EmulatedHosts
from workshop.demo.link import Link
from workshop.store.store import Store

WORKSHOP = [str(Path(sys.executable).with_name("workshop"))]
STARTED = 60.0  # seconds


class Hosts(EmulatedHosts):
    """Hosts on a machine that may be busy."""

    def run(self, host: str, *command: str, seconds: float = STARTED, **more: Any) -> subprocess.CompletedProcess[str]:
        return super().run(host, *command, seconds=limit(seconds), **more)


@contextmanager
def emulated(count: int = 3, link: Link | None = None) -> Iterator[EmulatedHosts]:
    """So many hosts; skips where this machine can't emulate any."""
    refused = namespaces.refusal()
    need(refused is None, refused or "")
    with Hosts(count, link) as hosts:
        yield hosts


def start(hosts: EmulatedHosts, where: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the session `test` from hostA, on the hosts that are named like `hostA:1,hostB:2`."""
    command = [*WORKSHOP, "session", "start", "test", "--hosts", where, "--bind-to", "none", *words, "--json"]
    return hosts.run("hostA", *command, seconds=STARTED)


@contextmanager
def session_on(hosts: EmulatedHosts, home: Path, where: str, *words: str) -> Iterator[Session]:
    """A session on these hosts, which is stopped afterwards."""
    done = start(hosts, where, *words)
    assert done.returncode == 0, (done.returncode, done.stderr)
    with Store.open() as store:
        yield Session(store, store.session(json.loads(done.stdout)["name"]), home)
        stopped = hosts.run("hostA", *WORKSHOP, "session", "stop", "test", seconds=STARTED)
        assert stopped.returncode == 0, stopped.stderr


def running(hosts: EmulatedHosts, host: str) -> list[str]:
    """What runs on a host beside the host itself and whoever asks."""
    listed = hosts.run(host, "ps", "-e", "-o", "args=").stdout.splitlines()
    ours = ("workshop.demo.switch", "/bin/sh -c ps", "ps -e")
    return [line for line in listed if not any(word in line for word in ours)]
