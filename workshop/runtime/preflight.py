"""Questions to other hosts before ranks start there, and advice where the answers aren't right."""

from __future__ import annotations

import platform
import secrets
import shlex
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core.errors import BadInput
from workshop.runtime import host_agent
from workshop.runtime.agent_client import AgentClient, close_all

ANSWERED = 20.0  # seconds within which a host must have answered: ssh may take eight of them to say that it can't
QUESTIONS = 5  # about the clock; the quickest answer counts
EVERY = 1.0  # seconds between words to all hosts: agents that hear nothing end themselves
CLOCK = 3.0  # seconds within which each must be answered
AHEAD = 1.0  # seconds of a clock's offset that people are told of
NOT_FOUND = (126, 127)  # a shell's exit codes where there is no such program
# Where these differ, ranks don't understand each other, or compute other things.
PACKAGES = (
    "distributed-training-workshop", "horovod", "ipyparallel", "keras", "mpi4py", "numba", "numpy", "openmpi",
    "pyzmq", "scikit-learn", "tensorflow-cpu",
)  # fmt: skip


@dataclass
class PreflightFindings:
    """The result of a preflight, in sentences that begin with the host."""

    failures: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)  # of what is no reason not to start
    names: dict[str, str] = field(default_factory=dict)  # what a host calls itself -> what it was called here


@dataclass(frozen=True)
class Here:
    """This host, which others are compared with."""

    python: str
    packages: Mapping[str, str | None]
    nonce: str
    address: str

    @classmethod
    def described(cls, address: str) -> Here:
        return cls(platform.python_version(), host_agent.versions(list(PACKAGES)), secrets.token_hex(16), address)


def check(
    agents: Sequence[AgentClient], slots: Mapping[str, int], folder: Path, address: str, give_up: Callable[[], bool]
) -> PreflightFindings:
    """Look at all hosts at once; takes a second or two, and never much more than `ANSWERED`. `folder` is the session's,
    which all of them have to see; `address` is this host's, which they have to reach. Raises BadInput where this host
    can't listen there."""
    here = Here.described(address)
    nonce = folder / f"nonce-{secrets.token_hex(4)}"
    nonce.write_text(here.nonce)
    findings = PreflightFindings()
    try:
        with listen(address) as listener, ThreadPoolExecutor(max(len(agents), 1)) as pool:
            question = {"packages": list(PACKAGES), "nonce": str(nonce), "address": address}
            futures = [pool.submit(_look, agent, {**question, "port": listener.getsockname()[1]}) for agent in agents]
            last_ping = time.monotonic()
            while not give_up() and wait(futures, 0.1).not_done:
                if time.monotonic() - last_ping > EVERY:  # who has answered waits for the others
                    last_ping = time.monotonic()
                    for asked_agent in agents:
                        asked_agent.ping()
            if give_up():
                close_all(agents)
    finally:
        nonce.unlink()
    for asked_agent, future in zip(agents, futures, strict=True):
        answer = future.result()
        if answer is None:
            findings.failures.append(silence(asked_agent.host, asked_agent.ended, asked_agent.error_lines))
            continue
        findings.names[answer["host"]] = asked_agent.host
        findings.failures += differences(asked_agent.host, answer, here, folder)
        findings.notices += notices(asked_agent.host, answer, slots[asked_agent.host], asked_agent.offset.seconds)
    findings.failures += twins([(agent.host, future.result()) for agent, future in zip(agents, futures, strict=True)])
    return findings


def listen(address: str) -> socket.socket:
    """Listen where other hosts try whether they reach this one. Raises BadInput where this host can't listen there."""
    try:
        return socket.create_server((address, 0))
    except OSError as error:
        raise BadInput(
            f"This host can't listen at {address} ({error.strerror or error}); give another of its addresses with "
            "--address."
        ) from error


def _look(agent: AgentClient, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answer = agent.ask("look", ANSWERED, **question)
    for _ in range(QUESTIONS if answer else 0):
        if agent.ask("clock", CLOCK) is None:
            return None
    return answer


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


def notices(host: str, report: Mapping[str, Any], slots: int, ahead: float) -> list[str]:
    """Notices on a host that can run ranks."""
    sentences = []
    if slots > report["cores"]:
        sentences.append(f"{host} has {report['cores']} cores for {slots} ranks, which will share them.")
    if abs(ahead) > AHEAD:
        direction = "ahead of" if ahead > 0 else "behind"
        sentences.append(f"{host}'s clock is {abs(ahead):.1f} s {direction} this host's; times are corrected by that.")
    return sentences


def twins(answers: Iterable[tuple[str, Mapping[str, Any] | None]]) -> list[str]:
    """Hosts that give themselves the same name: a launcher would take them for one host."""
    called = {socket.gethostname(): "this host"}
    problems = []
    for host, answer in answers:
        if answer is None:
            continue
        if other := called.get(answer["host"]):
            problems.append(f"{host} calls itself {answer['host']}, and so does {other}; name each host once.")
        called.setdefault(answer["host"], host)
    return problems
