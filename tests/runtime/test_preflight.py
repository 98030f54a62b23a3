"""What hosts are asked before anything starts, and the sentences for whatever isn't right."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hosts import WORKSHOP, emulated, running
from tests.support import limit, until
from workshop.core.errors import BadInput
from workshop.runtime import agent_client, preflight
from workshop.runtime.agent_client import AgentClient
from workshop.runtime.preflight import Here

HERE = Here("3.11.7", {"numpy": "2.4.6", "mpi4py": "4.1.2"}, "nonce", "10.0.0.1")
FINE = {
    "host": "hostB",
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6", "mpi4py": "4.1.2"},
    "nonce": "nonce",
    "cores": 2,
    "unreachable": None,
}


def test_each_difference_is_a_sentence_that_names_the_host_and_what_to_do() -> None:
    folder = Path("/shared/sessions/1")
    assert preflight.differences("hostB", FINE, HERE, folder) == []
    for change, words in (
        ({"python": "3.12.1"}, "hostB runs Python 3.12.1, this host 3.11.7; install the same one there."),
        (
            {"packages": {"numpy": "2.4.5", "mpi4py": None}},
            "hostB has numpy 2.4.5 instead of 2.4.6, mpi4py missing instead of 4.1.2; install the same environment "
            "there.",
        ),
        (
            {"nonce": None},
            "hostB doesn't see /shared/sessions/1; set WORKSHOP_HOME to a folder on a file system that all hosts "
            "share.",
        ),
        (
            {"unreachable": "Connection timed out"},
            "hostB can't reach this host at 10.0.0.1 (Connection timed out); let it through the firewall, or give "
            "another address of this host with --address.",
        ),
    ):
        assert preflight.differences("hostB", FINE | change, HERE, folder) == [words]
    everything = {"python": "3.12.1", "packages": {}, "nonce": "another", "unreachable": "No route to host"}
    assert len(preflight.differences("hostB", FINE | everything, HERE, folder)) == 4


def test_silence_is_explained() -> None:
    assert "hostB can't be reached (Connection refused); try `ssh hostB true`" in preflight.silence(
        "hostB", 255, ["Connection refused"]
    )
    assert "hostB has not answered within" in preflight.silence("hostB", None, [])
    assert f"hostB has no {sys.executable}" in preflight.silence("hostB", 127, ["sh: not found"])
    lacking = preflight.silence("hostB", 1, ["Traceback", "ModuleNotFoundError: No module named 'psutil'"])
    assert "lacks a part (ModuleNotFoundError: No module named 'psutil')" in lacking


def test_notices_are_no_reason_not_to_start() -> None:
    assert preflight.notices("hostB", FINE, 2, 0.01) == []
    assert preflight.notices("hostB", FINE, 3, -2.0) == [
        "hostB has 2 cores for 3 ranks, which will share them.",
        "hostB's clock is 2.0 s behind this host's; times are corrected by that.",
    ]


def test_a_host_that_is_named_twice_is_told() -> None:
    told = preflight.twins([("hostB", FINE), ("10.0.0.2", FINE), ("hostC", None)])
    assert told == ["10.0.0.2 calls itself hostB, and so does hostB; name each host once."]


@pytest.mark.real
def test_everything_that_is_wrong_is_told_at_once(workshop_home: Path) -> None:
    with emulated(3) as hosts:
        hosts.kill("hostC")
        command = [*WORKSHOP, "session", "start", "test", "--hosts", "hostA:1,hostB:1,hostC:1,hostX:1"]
        began = hosts.run("hostA", *command, "--address", "10.0.0.1")
        assert began.returncode == 1
        assert "hostC can't be reached" in began.stderr
        assert "hostX can't be reached" in began.stderr
        assert "hostB" not in began.stderr.partition("did not start")[2]
        elsewhere = hosts.run("hostA", *command[:-1], "hostA:1,hostB:1", "--address", "192.0.2.1")
        assert "192.0.2.1 is not an address of this host" in elsewhere.stderr
        until(lambda: not running(hosts, "hostB"), 15, "hostB to be clean")


@pytest.mark.real
def test_a_folder_that_only_this_host_has(workshop_home: Path, tmp_path: Path) -> None:
    """Over there another file system hides the state folder, as where it isn't shared."""
    home = tmp_path / "own"
    home.mkdir()
    with emulated(2) as hosts:
        mounted = hosts.run("hostB", "mount", "-t", "tmpfs", "tmpfs", str(home))
        assert mounted.returncode == 0, mounted.stderr
        command = [*WORKSHOP, "session", "start", "test", "--hosts", "hostA:1,hostB:1"]
        done = hosts.run("hostA", *command, WORKSHOP_HOME=str(home))
        assert done.returncode == 1
        assert f"hostB doesn't see {home}" in done.stderr


@contextmanager
def posts(folder: Path, script: str, *hosts: str) -> Iterator[list[AgentClient]]:
    """Lines to agents of this machine, over a program in Python instead of ssh; its `host` is whom it is for."""
    ssh = folder / "ssh"
    head = "import sys, time\nfrom workshop.runtime import host_agent\nhost = sys.argv[-2]\nsys.argv[1:] = ['nobody']\n"
    ssh.write_text(f"#!{sys.executable}\n{head}{script}\n")
    ssh.chmod(0o700)
    opened = [AgentClient(host, str(ssh), "nobody") for host in hosts]
    try:
        yield opened
    finally:
        agent_client.close_all(opened)


@pytest.mark.real
def test_a_fast_host_is_not_lost_while_a_slow_one_is_waited_for(tmp_path: Path) -> None:
    late = "host_agent.SILENCE = 6.0\nif host == 'late':\n    time.sleep(1.5 * host_agent.SILENCE)\nhost_agent.main()"
    with posts(tmp_path, late, "early", "late") as (early, slow):
        slots = {"early": 1, "late": 1}
        found = preflight.check([early, slow], slots, tmp_path, "127.0.0.1", lambda: False)
        assert [words for words in found.failures if "calls itself" not in words] == []
        assert (early.ended, slow.ended) == (None, None), "an agent that hears nothing ends itself"
        assert abs(early.offset.seconds) <= early.offset.within + 1e-6, "it is of one machine"


@pytest.mark.real
def test_silent_hosts_are_waited_for_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_client, "CLOSED", 8.0)
    deaf = "print(host_agent.json.dumps(host_agent.answer({'about': 'alive'})), flush=True)\ntime.sleep(600)"
    with posts(tmp_path, deaf, *"abcde") as opened:
        for one in opened:
            one.ping()
        until(lambda: all(one.answered for one in opened), 20, "all to have answered")
        began = time.monotonic()
        agent_client.close_all(opened)
        assert 8.0 <= time.monotonic() - began < 4 * 8.0, "five silent hosts take as long as one"
        assert all(one.ended is not None for one in opened)


@pytest.mark.real
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('no way', file=sys.stderr, flush=True); print('Welcome!'); sys.exit(255)", ["no way"]),
        ("print('This account is not available.'); sys.exit(1)", ["This account is not available."]),
        ("print('Welcome!', flush=True); host_agent.main()", []),
    ],
)
def test_a_greeting_is_not_the_reason(tmp_path: Path, script: str, said: list[str]) -> None:
    with posts(tmp_path, script, "hostB") as (line,):
        answer = line.ask("clock", 20.0)
        assert (answer is not None) == (not said)
        line.close(time.monotonic() + 20)
        assert line.ended is not None
        assert line.error_lines == said


def test_an_address_that_nobody_can_listen_at_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"This host can't listen at 192.0.2.1 .*; give another"):
        preflight.check([], {}, tmp_path, "192.0.2.1", lambda: False)
    assert list(tmp_path.iterdir()) == [], "the file that others look for is gone"


@pytest.mark.real
def test_an_agent_answers_and_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "workshop.runtime.host_agent", "a tag that nobody has"]
    asked = "".join(json.dumps({"about": "clock"}) + "\n" for _ in range(3))
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=limit(20))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["about"] for answer in answers] == ["clock"] * 3
    assert all(answer["kills"] >= 0 for answer in answers)
    assert done.returncode == 0


@pytest.mark.real
def test_the_doctor_looks_at_hosts(workshop_home: Path) -> None:
    with emulated(2) as hosts:
        doctor = [*WORKSHOP, "doctor", "--json", "--hosts"]
        fine = hosts.run("hostA", *doctor, "hostA:1,hostB:2")
        assert fine.returncode == 0, fine.stdout + fine.stderr
        assert [(check["name"], check["ok"]) for check in json.loads(fine.stdout)["checks"]] == [
            ("hostA", True), ("hostB", True),
        ]  # fmt: skip
        hosts.cut("hostB")
        lost = hosts.run("hostA", *doctor, "hostA:1,hostB:2")
        assert lost.returncode == 1
        (failed,) = [check for check in json.loads(lost.stdout)["checks"] if not check["ok"]]
        assert "hostB can't be reached" in failed["fix"]
