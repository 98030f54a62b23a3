"""What is asked of other hosts before anything starts there, and what to do where the answer isn't right."""

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
from workshop.runtime.agent_client import Post, close_all

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
class Findings:
    """What a preflight found: sentences, each of which begins with the host that it is about."""

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
    posts: Sequence[Post], slots: Mapping[str, int], folder: Path, address: str, give_up: Callable[[], bool]
) -> Findings:
    """Look at all hosts at once; takes a second or two, and never much more than `ANSWERED`. `folder` is the session's,
    which all of them have to see; `address` is this host's, which they have to reach. Raises BadInput where this host
    can't listen there."""
    here = Here.described(address)
    nonce = folder / f"nonce-{secrets.token_hex(4)}"
    nonce.write_text(here.nonce)
    found = Findings()
    try:
        with listen(address) as door, ThreadPoolExecutor(max(len(posts), 1)) as pool:
            question = {"packages": list(PACKAGES), "nonce": str(nonce), "address": address}
            asked = [pool.submit(_look, post, {**question, "port": door.getsockname()[1]}) for post in posts]
            told = time.monotonic()
            while not give_up() and wait(asked, 0.1).not_done:
                if time.monotonic() - told > EVERY:  # who has answered waits for the others
                    told = time.monotonic()
                    for post in posts:
                        post.ping()
            if give_up():
                close_all(posts)
    finally:
        nonce.unlink()
    for post, future in zip(posts, asked, strict=True):
        answer = future.result()
        if answer is None:
            found.failures.append(silence(post.host, post.ended, post.said))
            continue
        found.names[answer["host"]] = post.host
        found.failures += differences(post.host, answer, here, folder)
        found.notices += notices(post.host, answer, slots[post.host], post.offset.seconds)
    found.failures += twins([(post.host, future.result()) for post, future in zip(posts, asked, strict=True)])
    return found


def listen(address: str) -> socket.socket:
    """Where other hosts try whether they reach this one. Raises BadInput where this host can't listen there."""
    try:
        return socket.create_server((address, 0))
    except OSError as error:
        raise BadInput(
            f"This host can't listen at {address} ({error.strerror or error}); give another of its addresses with "
            "--address."
        ) from error


def _look(post: Post, question: Mapping[str, Any]) -> Mapping[str, Any] | None:
    answer = post.ask("look", ANSWERED, **question)
    for _ in range(QUESTIONS if answer else 0):
        if post.ask("clock", CLOCK) is None:
            return None
    return answer


def silence(host: str, code: int | None, said: Sequence[str]) -> str:
    """Why a host has not answered, from the exit code of ssh (None: it still runs) and what was said."""
    words = said[-1] if said else ""
    if code in NOT_FOUND:
        return (
            f"{host} has no {sys.executable}; put the environment at the same path on every host, or on a file system "
            "that all of them share."
        )
    if any("No module named" in line for line in said):
        return f"{host} has a Python at {sys.executable} that lacks a part ({words}); install the environment there."
    trying = f"try `ssh {shlex.quote(host)} true`, which must work without a password."
    if code is None:
        return f"{host} has not answered within {ANSWERED:.0f} s; {trying}"
    return f"{host} can't be reached{f' ({words})' if words else ''}; {trying}"


def differences(host: str, there: Mapping[str, Any], here: Here, folder: Path) -> list[str]:
    """What makes a host that has answered unfit to run ranks together with this one."""
    problems = []
    if there["python"] != here.python:
        problems.append(f"{host} runs Python {there['python']}, this host {here.python}; install the same one there.")
    others = [
        f"{name} {there['packages'].get(name) or 'missing'} instead of {version or 'none'}"
        for name, version in here.packages.items()
        if there["packages"].get(name) != version
    ]
    if others:
        problems.append(f"{host} has {', '.join(others)}; install the same environment there.")
    if there["nonce"] != here.nonce:
        problems.append(
            f"{host} doesn't see {folder}; set WORKSHOP_HOME to a folder on a file system that all hosts share."
        )
    if there["unreachable"]:
        problems.append(
            f"{host} can't reach this host at {here.address} ({there['unreachable']}); let it through the firewall, or "
            "give another address of this host with --address."
        )
    return problems


def notices(host: str, there: Mapping[str, Any], slots: int, ahead: float) -> list[str]:
    """What people should know of a host that can run ranks."""
    told = []
    if slots > there["cores"]:
        told.append(f"{host} has {there['cores']} cores for {slots} ranks, which will share them.")
    if abs(ahead) > AHEAD:
        direction = "ahead of" if ahead > 0 else "behind"
        told.append(f"{host}'s clock is {abs(ahead):.1f} s {direction} this host's; times are corrected by that.")
    return told


def twins(answers: Iterable[tuple[str, Mapping[str, Any] | None]]) -> list[str]:
    """Hosts that call themselves the same: a launcher would take them for one."""
    called = {socket.gethostname(): "this host"}
    problems = []
    for host, answer in answers:
        if answer is None:
            continue
        if other := called.get(answer["host"]):
            problems.append(f"{host} calls itself {answer['host']}, and so does {other}; name each host once.")
        called.setdefault(answer["host"], host)
    return problems
