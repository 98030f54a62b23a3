"""Emulated hosts: namespaces of this machine, joined by a bridge, which look like hosts to the programs in them.

Each has its own name, network, processes and shared memory; they share processors and files with this machine. Other
code uses `EmulatedHosts`. It starts the switch (`switch`), which starts the hosts. Each host runs commands (`remote`)
that arrive over the network, through a stand-in for ssh, or through a socket in a folder.

`parse_rate` reads how fast their links are.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.sessions.preflight import SSH

MOST_HOSTS = 16  # hosts: more than that teaches nothing on one machine
READY = 30.0  # seconds within which hosts must be up; they take less than one
ENDED = 10.0  # seconds within which they must be gone
TAIL = 4096  # bytes of what went wrong


def names(count: int) -> list[str]:
    """`hostA`, `hostB` and so on."""
    return [f"host{chr(ord('A') + number)}" for number in range(count)]


class EmulatedHosts:
    """Hosts that are up until `close`, or until this process ends in any way.

    `rate` is what each host's link takes in each direction, in bit/s (None: no limit). Raises BadInput where this
    machine can't emulate hosts.
    """

    def __init__(self, count: int = 3, rate: float | None = None) -> None:
        if not 1 <= count <= MOST_HOSTS:
            raise BadInput(f"hosts is {count}: it should be from 1 to {MOST_HOSTS}.")
        self.names = names(count)
        self.folder = config.home() / "demo" / f"{os.getpid()}-{time.monotonic_ns()}"
        self.folder.mkdir(parents=True, mode=0o700)
        program = shlex.join([sys.executable, "-P", "-m", "workshop.cli.emulation.remote"])
        self.ssh.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        self.ssh.chmod(0o700)
        what = json.dumps({"names": self.names, "rate": rate})
        switch = [sys.executable, "-P", "-m", "workshop.cli.emulation.switch", "switch"]
        self._log = os.memfd_create("switch.log")  # its messages; the folder goes with the switch
        self._switch = subprocess.Popen(
            [*switch, str(os.getpid()), str(self.folder), what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # a Ctrl-C is for us; the hosts end when we want them to
        )
        self.pids: dict[str, int] = {}  # as the switch sees them
        try:
            self._wait_ready()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> EmulatedHosts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the hosts and every process on them."""
        self._switch.terminate()
        try:
            self._switch.communicate(timeout=ENDED)
        except subprocess.TimeoutExpired:
            self._switch.kill()
            self._switch.communicate()
        os.close(self._log)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def ssh(self) -> Path:
        """The program that reaches a host from another one, with ssh's words."""
        return self.folder / "ssh"

    @property
    def environment(self) -> dict[str, str]:
        """Variables for launchers that run on the hosts."""
        return {
            SSH: str(self.ssh),
            # What an MPI leaves in its temporary folder when it is killed belongs to the host, and goes with it.
            "PRTE_MCA_prte_tmpdir_base": "/dev/shm",
            # MPICH and Intel MPI see that it is one machine, whose memory they would share.
            "UCX_TLS": "tcp,self",
            "FI_PROVIDER": "tcp",
        }

    def command(self, host: str, command: Sequence[str]) -> list[str]:
        """The words of a command that runs another command on a host, with this process's environment."""
        remote = [sys.executable, "-P", "-m", "workshop.cli.emulation.remote", str(self.folder / host)]
        return [*remote, shlex.join(command)]

    def _wait_ready(self) -> None:
        assert self._switch.stdout is not None, "it is a pipe"
        if not select.select([self._switch.stdout], [], [], READY)[0]:
            raise WorkshopError(f"The emulated hosts were not up within {READY:.0f} s.")
        if word := self._switch.stdout.readline():
            self.pids = json.loads(word)
            return
        output = os.pread(self._log, TAIL, 0).decode(errors="replace").strip()
        kind = BadInput if self._switch.wait() == BadInput.exit_code else WorkshopError
        raise kind(f"The emulated hosts did not start: {output}")


_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])bit(?:/s)?")
_BITS = {"k": 1e3, "m": 1e6, "g": 1e9}
SLOWEST, FASTEST = 100e3, 100e9  # bit/s


def parse_rate(text: str) -> float:
    """Read a rate such as `1gbit`; returns bit/s. Raises BadInput."""
    match = _RATE.fullmatch(text.strip().lower())
    rate = float(match[1]) * _BITS[match[2]] if match else -1.0
    if not SLOWEST <= rate <= FASTEST:
        raise BadInput(f"link is {text!r}: it should be like 100mbit or 1gbit, from 100kbit to 100gbit.")
    return rate
