"""What hosts are asked before anything starts, and the sentences for whatever isn't right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.hosts import WORKSHOP, emulated, running
from tests.support import until
from workshop.core.errors import BadInput
from workshop.sessions import preflight
from workshop.sessions.preflight import Here, Reply

HERE = Here("3.11.7", {"numpy": "2.4.6", "mpi4py": "4.1.2"}, "nonce", "10.0.0.1")
FINE = {
    "host": "hostB",
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6", "mpi4py": "4.1.2"},
    "nonce": "nonce",
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


def test_a_greeting_is_neither_the_answer_nor_the_reason() -> None:
    assert preflight.reply(0, 'Welcome!\n{"cores": 2}\n', "") == Reply({"cores": 2}, 0, ["Welcome!", '{"cores": 2}'])
    assert preflight.reply(255, "Welcome!\n", "no way\n") == Reply(None, 255, ["no way"])
    assert preflight.reply(1, "This account is not available.\n", "").lines == ["This account is not available."]


def test_an_address_that_nobody_can_listen_at_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"This host can't listen at 192.0.2.1 .*; give another"):
        preflight.check("ssh", [], tmp_path, "192.0.2.1", lambda: False)
    assert list(tmp_path.iterdir()) == [], "the file that others look for is gone"


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
