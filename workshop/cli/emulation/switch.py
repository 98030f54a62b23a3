"""The programs inside: the switch with its bridge, and one process for each host. `emulation.hosts` starts them.

`python -m workshop.cli.emulation.switch switch OWNER FOLDER WHAT` and `… host OWNER FOLDER WHAT`; WHAT is JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workshop.cli.emulation import namespaces, remote
from workshop.core.errors import BadInput, WorkshopError

NETWORK = "10.0.0"  # nobody else is in it
DEVICE = "eth0"  # of every host
BURST = 0.001  # seconds of the rate that may go out at once
QUEUE = 0.4  # seconds of the rate that may wait, before packets are dropped
MINUTE = 60.0  # within which a program of iproute2 must have ended


def address(number: int) -> str:
    """The address of the host with that number, from 0."""
    return f"{NETWORK}.{number + 1}"


def switch(folder: Path, names: Sequence[str], rate: float | None) -> None:
    """Bring up the hosts and tell their processes on standard output; ends with its standard input."""
    known_hosts = Path("/etc/hosts").read_text() if Path("/etc/hosts").exists() else "127.0.0.1 localhost\n"
    ours = "".join(f"{address(number)} {name}\n" for number, name in enumerate(names))
    (folder / "hosts").write_text(ours + known_hosts)
    namespaces.mount_over(folder / "hosts", "/etc/hosts")
    _ip(["link set lo up", "link add switch type bridge", "link set switch up"])
    hosts = [_start_host(folder, name, number, rate) for number, name in enumerate(names)]
    for name, host in zip(names, hosts, strict=True):
        _expect(host)
        _ip(
            [
                f"link add {name} type veth peer name {DEVICE} netns {host.pid}",
                f"link set {name} master switch",
                f"link set {name} up",
            ]
        )
        _limit(name, rate)  # a host receives no faster than it sends
        assert host.stdin is not None, "it is a pipe"
        host.stdin.write(b"go\n")
        host.stdin.flush()
    for host in hosts:
        _expect(host)
    pids = {name: host.pid for name, host in zip(names, hosts, strict=True)}
    threading.Thread(target=remote.serve, args=(remote.listen(folder / "switch"),), daemon=True).start()
    print(json.dumps(pids), flush=True)
    sys.stdin.read()  # nobody writes there


def _start_host(folder: Path, name: str, number: int, rate: float | None) -> subprocess.Popen[bytes]:
    what = json.dumps({"name": name, "number": number, "rate": rate})
    command = [sys.executable, "-P", "-m", "workshop.cli.emulation.switch", "host", str(os.getpid()), str(folder), what]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _expect(host: subprocess.Popen[bytes]) -> None:
    """Wait for a host's next word; our caller has a time limit. A failing host has told the reason, which is passed
    on."""
    assert host.stdout is not None, "it is a pipe"
    if not host.stdout.readline():
        sys.exit(host.wait())


def host(folder: Path, name: str, number: int, rate: float | None) -> None:
    """Be a host, until somebody ends it."""
    socket.sethostname(name)
    print("entered", flush=True)
    sys.stdin.readline()  # the device is there now
    _ip(["link set lo up", f"address add {address(number)}/24 dev {DEVICE}", f"link set {DEVICE} up"])
    _limit(DEVICE, rate)
    listener = socket.create_server(("0.0.0.0", remote.PORT), backlog=100)
    inside = remote.listen(folder / name)
    print("ready", flush=True)
    threading.Thread(target=remote.serve, args=(inside,), daemon=True).start()
    remote.serve(listener)


def _limit(device: str, rate: float | None) -> None:
    """Limit what leaves a device (tc-tbf(8)), in bit/s."""
    if rate is not None:
        burst = max(round(rate / 8 * BURST), 16_000)
        limits = f"rate {rate:.0f}bit burst {burst} latency {QUEUE * 1e3:.0f}ms"
        _run("tc", *f"qdisc replace dev {device} root tbf {limits}".split())


def _ip(commands: Iterable[str]) -> None:
    _run("ip", "-batch", "-", words="\n".join(commands) + "\n")


def _run(name: str, *arguments: str, words: str = "") -> None:
    # Ordinary users often lack /sbin in their PATH.
    program = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if program is None:
        raise BadInput(f"{name} can't be found; install the package iproute2.")
    done = subprocess.run([program, *arguments], input=words, capture_output=True, text=True, timeout=MINUTE)
    if done.returncode != 0:
        raise WorkshopError(" ".join((done.stderr or done.stdout).split()) or f"{name} ended with {done.returncode}")


def main() -> None:
    kind, owner, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    what: dict[str, Any] = json.loads(sys.argv[4])
    try:
        namespaces.enter(owner, remove=folder if kind == "switch" else None)
        if kind == "switch":
            switch(folder, what["names"], what["rate"])
        else:
            host(folder, what["name"], what["number"], what["rate"])
    except WorkshopError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
