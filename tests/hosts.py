"""Emulated hosts of a test's own, and sessions on them that the test drives from outside: they share its files."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.live_session import Session
from tests.support import limit, need
from workshop.cli.emulation.hosts import EmulatedHosts
from workshop.core.errors import BadInput
from workshop.store.store import Store

WORKSHOP = [str(Path(sys.executable).with_name("workshop"))]
STARTED = 60.0  # seconds


class Hosts(EmulatedHosts):
    """Hosts on which commands run, and which lose their link or end."""

    def run(self, host: str, *command: str, seconds: float = STARTED, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a command on a host and wait for its end, on a machine that may be busy."""
        return subprocess.run(
            self.command(host, command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit(seconds),
            env=os.environ | self.environment | more,
        )

    def sent(self, host: str) -> int:
        """The bytes that a host has sent so far, with packets' headers."""
        line = next(line for line in self._do(host, "cat", "/proc/net/dev").splitlines() if "eth0:" in line)
        return int(line.partition(":")[2].split()[8])

    def cut(self, host: str) -> None:
        """Pull a host's network cable."""
        self._do("switch", "ip", "link", "set", host, "down")

    def join(self, host: str) -> None:
        """Put it in again."""
        self._do("switch", "ip", "link", "set", host, "up")

    def kill(self, host: str) -> None:
        """Switch a host off; it doesn't come back."""
        self._do("switch", "kill", "-9", str(self.pids[host]))

    def _do(self, host: str, *command: str) -> str:
        done = self.run(host, *command)
        if done.returncode != 0:
            raise AssertionError(f"{shlex.join(command)} failed on {host}: {done.stderr.strip()}")
        return done.stdout


@contextmanager
def emulated(count: int = 3, rate: float | None = None) -> Iterator[Hosts]:
    """So many hosts; skips where this machine can't emulate any."""
    try:
        hosts = Hosts(count, rate)
    except BadInput as refused:
        need(False, str(refused))
    with hosts:
        yield hosts


def start(hosts: Hosts, where: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the session `test` from hostA, on the hosts that are named like `hostA:1,hostB:2`."""
    command = [*WORKSHOP, "session", "start", "test", "--hosts", where, "--bind-to", "none", *words, "--json"]
    return hosts.run("hostA", *command, seconds=STARTED)


@contextmanager
def session_on(hosts: Hosts, home: Path, where: str, *words: str) -> Iterator[Session]:
    """A session on these hosts, which is stopped afterwards."""
    done = start(hosts, where, *words)
    assert done.returncode == 0, (done.returncode, done.stderr)
    with Store.open() as store:
        yield Session(store, store.session(json.loads(done.stdout)["name"]), home)
        stopped = hosts.run("hostA", *WORKSHOP, "session", "stop", "test", seconds=STARTED)
        assert stopped.returncode == 0, stopped.stderr


def running(hosts: Hosts, host: str) -> list[str]:
    """What runs on a host beside the host itself and whoever asks."""
    listed = hosts.run(host, "ps", "-e", "-o", "args=").stdout.splitlines()
    ours = ("workshop.cli.emulation.switch", "/bin/sh -c ps", "ps -e")
    return [line for line in listed if not any(word in line for word in ours)]
