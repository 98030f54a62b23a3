"""Questions to other hosts over ssh, and advice where the answers before a start aren't right."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.parent_death import guarded

SSH = "WORKSHOP_SSH"  # the program that reaches other hosts, where it isn't ssh
# Options of ssh: it asks for no password, waits only so many seconds, and notices a host that is gone.
SSH_OPTIONS = tuple(
    word
    for setting in ("BatchMode=yes", "ConnectTimeout=8", "ServerAliveInterval=2", "ServerAliveCountMax=3")
    for word in ("-o", setting)
)
ANSWERED = 20.0  # seconds within which a host must have answered: ssh may take eight of them to say that it can't
ENDED = 3.0  # seconds that ssh and srun get to end, for instance to take back a step
CONNECT = 3.0  # seconds within which a host must have reached this one
NODES = 60.0  # seconds for all nodes of an allocation, Python's start from a shared file system included
POLL = 0.02  # seconds between looks whether hosts have answered
NOT_FOUND = (126, 127)  # a shell's exit codes where there is no such program
# Where these differ, ranks don't understand each other, or compute other things.
PACKAGES = (
    "distributed-training-workshop", "horovod", "ipyparallel", "keras", "mpi4py", "numba", "numpy", "openmpi",
    "pyzmq", "scikit-learn", "tensorflow", "tensorflow-cpu",
)  # fmt: skip
# What a host runs to answer a question, which is its argument.
LOOK = """
import json, sys
from workshop.sessions import preflight
print(json.dumps(preflight.look(json.loads(sys.argv[1]))), flush=True)
"""


@dataclass(frozen=True)
class Reply:
    """A host's reply: the answer of the program there, or None; ssh's exit code, or None while it was still running;
    the lines of errors, or of the output where there are no errors."""

    answer: Mapping[str, Any] | None
    code: int | None
    lines: Sequence[str]


def ask(ssh: str, hosts: Iterable[str], give_up: Callable[[], bool], program: str, *arguments: str) -> dict[str, Reply]:
    """Run a Python program on all hosts at once, which prints one JSON document. Returns at the latest after `ANSWERED`
    seconds, and soon after `give_up` says so."""
    path = [f"PYTHONPATH={os.environ['PYTHONPATH']}"] if os.environ.get("PYTHONPATH") else []
    command = shlex.join(["exec", "env", *path, sys.executable, "-P", "-c", program, *arguments])
    commands = {host: [ssh, *SSH_OPTIONS, "-T", host, command] for host in hosts}
    return {host: reply(*ended) for host, ended in run_all(commands, ANSWERED, give_up).items()}


def run_all(
    commands: Mapping[str, list[str]],
    seconds: float,
    give_up: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
) -> dict[str, tuple[int | None, str, str]]:
    """Run commands at once; the exit code, the output and the errors of each. The code is None for one that took longer
    than these `seconds`, or until `give_up` said so; it has ended then, too."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name, command in commands.items():
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(2)]
            process = subprocess.Popen(
                guarded(command), stdin=subprocess.DEVNULL, stdout=files[0], stderr=files[1], env=environment
            )
            stack.callback(_end, process)
            running[name] = process, files
        deadline = time.monotonic() + seconds
        while any(process.poll() is None for process, _ in running.values()):
            if time.monotonic() > deadline or give_up():
                break
            time.sleep(POLL)
        return {
            name: (process.returncode, _text(files[0]), _text(files[1])) for name, (process, files) in running.items()
        }


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(ENDED)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))


def reply(code: int | None, output: str, errors: str) -> Reply:
    """The reply in what ssh has printed. A login may greet before the program answers."""
    answer = None
    for line in output.splitlines():
        with contextlib.suppress(ValueError):
            document = json.loads(line)
            answer = document if isinstance(document, dict) else answer
    return Reply(answer, code, [line.strip() for line in (errors or output).splitlines() if line.strip()])


def look(question: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that the conductor compares with its own host: `packages`, the `nonce` file that it wrote, whether it can
    be reached at `address` and `port`."""
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "packages": versions(question["packages"]),
        "nonce": _read(Path(question["nonce"])),
        "machine": topology.machine(),
        "unreachable": _unreachable(question["address"], question["port"]),
    }


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """The version of each package in this environment; None where it isn't there."""
    installed: dict[str, str | None] = dict.fromkeys(packages)
    for name in installed:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


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


@dataclass(frozen=True)
class Here:
    """This host, which others are compared with."""

    python: str
    packages: Mapping[str, str | None]
    nonce: str
    address: str

    @classmethod
    def described(cls, address: str) -> Here:
        return cls(platform.python_version(), versions(PACKAGES), secrets.token_hex(16), address)


@contextlib.contextmanager
def questioned(here: Here, folder: Path) -> Iterator[str]:
    """The question to all hosts about this one, as JSON: while the block lasts, this host listens at its address, and
    the nonce is in the session's folder. Raises BadInput where this host can't listen there."""
    nonce = folder / f"nonce-{secrets.token_hex(4)}"
    nonce.write_text(here.nonce)
    try:
        listener = socket.create_server((here.address, 0))
    except OSError as error:
        nonce.unlink()
        raise BadInput(
            f"This host can't listen at {here.address} ({error.strerror or error}); give another of its addresses with "
            "--address."
        ) from error
    with listener:
        try:
            yield json.dumps(
                {
                    "packages": PACKAGES,
                    "nonce": str(nonce),
                    "address": here.address,
                    "port": listener.getsockname()[1],
                }
            )
        finally:
            nonce.unlink()


def check(ssh: str, hosts: Iterable[str], folder: Path, address: str, give_up: Callable[[], bool]) -> list[str]:
    """Look at all hosts at once; takes a second or two, and never much more than `ANSWERED`. Returns what isn't right,
    in sentences that begin with the host. `folder` is the session's, which all of them have to see; `address` is this
    host's, which they have to reach. Raises BadInput where this host can't listen there."""
    here = Here.described(address)
    with questioned(here, folder) as question:
        replies = ask(ssh, hosts, give_up, LOOK, question)
    failures = []
    for host, replied in replies.items():
        if replied.answer is None:
            failures.append(silence(host, replied.code, replied.lines))
        else:
            failures += differences(host, replied.answer, here, folder)
    return failures


def check_nodes(
    command: list[str],
    environment: Mapping[str, str],
    count: int,
    folder: Path,
    address: str,
    give_up: Callable[[], bool],
) -> tuple[list[str], dict[str, Any] | None]:
    """Look at all nodes of an allocation of Slurm at once, in one step of the job, which `command` with the variables
    `environment` starts. Returns what isn't right, and the machine of the smallest node. `folder` and `address` are as
    for `check`."""
    here = Here.described(address)
    with questioned(here, folder) as question:
        step = [*command, sys.executable, "-P", "-c", LOOK, question]
        ((code, output, errors),) = run_all({"step": step}, NODES, give_up, environment).values()
    if code is None:
        return [f"The nodes have not answered within {NODES:.0f} s; is their file system well?"], None
    answers = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    failures = [words for answer in answers for words in differences(answer["host"], answer, here, folder)]
    if len(answers) < count:
        message = "; ".join(dict.fromkeys(errors.split("\n"))).strip("; ") or f"srun ended with {code}"
        failures.append(f"{len(answers)} of {count} nodes have answered ({message}).")
    machines = (answer["machine"] for answer in answers)
    return failures, min(machines, key=lambda machine: len(machine["units"]), default=None)


def silence(host: str, code: int | None, output: Sequence[str]) -> str:
    """The reason why a host has not answered, from ssh's exit code (None: it still runs) and output."""
    words = output[-1] if output else ""
    if code in NOT_FOUND:
        return (
            f"{host} has no {sys.executable}; put the environment at the same path on every host, or on a file system "
            "that all of them share."
        )
    if any("No module named" in line for line in output):
        return f"{host} has a Python at {sys.executable} that lacks a part ({words}); install the environment there."
    trying = f"try `ssh {shlex.quote(host)} true`, which must work without a password."
    if code is None:
        return f"{host} has not answered within {ANSWERED:.0f} s; {trying}"
    return f"{host} can't be reached{f' ({words})' if words else ''}; {trying}"


def differences(host: str, report: Mapping[str, Any], here: Here, folder: Path) -> list[str]:
    """The reasons why a host that has answered can't run ranks together with this one."""
    problems = []
    if report["python"] != here.python:
        problems.append(f"{host} runs Python {report['python']}, this host {here.python}; install the same one there.")
    others = [
        f"{name} {report['packages'].get(name) or 'missing'} instead of {version or 'none'}"
        for name, version in here.packages.items()
        if report["packages"].get(name) != version
    ]
    if others:
        problems.append(f"{host} has {', '.join(others)}; install the same environment there.")
    if report["nonce"] != here.nonce:
        problems.append(
            f"{host} doesn't see {folder}; set WORKSHOP_HOME to a folder on a file system that all hosts share."
        )
    if report["unreachable"]:
        problems.append(
            f"{host} can't reach this host at {here.address} ({report['unreachable']}); let it through the firewall, "
            "or give another address of this host with --address."
        )
    return problems
