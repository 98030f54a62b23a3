"""A session's agent on another host: it answers for the host, and cleans up after the ranks there.

Started over ssh as `python -m workshop.runtime.host_agent`. Each line of standard input is a JSON document, which it
answers on standard output. When it hears nothing for `SILENCE` seconds, or its input ends, the conductor is gone: the
agent ends the session's ranks on this host, and itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import socket
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from workshop.core import processes, topology
from workshop.core.memory import machine_kills

SILENCE = 7.0  # seconds
CONNECT = 3.0  # seconds within which the conductor must be reached
END = 2.0  # seconds that a launcher's daemon gets to end by itself
DAEMONS = ("prted", "hydra_pmi_proxy")  # what launchers leave on a host beside its ranks


def versions(packages: list[str]) -> dict[str, str | None]:
    """The version of each package in this environment; None where it isn't there."""
    installed: dict[str, str | None] = dict.fromkeys(packages)
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def look(question: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that the conductor compares with its own host: `packages`, the `nonce` file that it wrote, whether it can
    be reached at `address` and `port`."""
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "packages": versions(question["packages"]),
        "nonce": _read(Path(question["nonce"])),
        "cores": topology.allowed_cores(topology.machine()),
        "unreachable": _unreachable(question["address"], question["port"]),
    }


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None


def _unreachable(address: str, port: int) -> str | None:
    try:
        socket.create_connection((address, port), CONNECT).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def end_ranks(tag: str) -> None:
    """End the ranks of a session on this host, what their launcher left beside them, and their shared memory."""
    ranks = [rank for rank in processes.tagged(processes.TAG, tag) if _is_rank(rank)]
    segments, daemons = set(), set()
    for rank in ranks:
        with contextlib.suppress(psutil.Error, OSError):
            maps = Path(f"/proc/{rank.pid}/maps").read_text().splitlines()
            segments |= {line.split()[-1] for line in maps if line.split()[-1].startswith("/dev/shm/")}
            if (parent := rank.parent()) and parent.name() in DAEMONS:
                daemons.add(parent)
    for process in ranks:  # deaf to anything else in a collective, and without a state to save
        with contextlib.suppress(psutil.Error):
            process.kill()
    for process in daemons:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, survivors = psutil.wait_procs([*ranks, *daemons], timeout=END)
    for process in survivors:
        with contextlib.suppress(psutil.Error):
            process.kill()
    for segment in segments:
        Path(segment).unlink(missing_ok=True)


def _is_rank(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return processes.ENGINES_TAG in process.environ()
    return False


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one question. `kills` counts the processes that the kernel has ended for want of memory, because
    ranks are in another control group than this process."""
    reply = {"about": question["about"], "clock": time.time(), "kills": machine_kills()}
    return reply | (look(question) if question["about"] == "look" else {})


def main() -> None:
    """Answer until the other end is gone."""
    tag = sys.argv[1]
    buffer = b""
    while select.select([sys.stdin], [], [], SILENCE)[0]:
        received = os.read(sys.stdin.fileno(), 1 << 16)
        if not received:
            break
        *lines, buffer = (buffer + received).split(b"\n")
        try:
            for line in lines:
                print(json.dumps(answer(json.loads(line))), flush=True)
        except OSError:
            break
    end_ranks(tag)
    with contextlib.suppress(OSError):
        sys.stdout.close()
    os._exit(0)


if __name__ == "__main__":
    main()
