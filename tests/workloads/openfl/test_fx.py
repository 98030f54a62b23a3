"""OpenFL's commands: how they end, and that none outlives its rank. A small program stands in for `fx`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import limit, until
from workshop.core.errors import WorkshopError
from workshop.workloads.openfl import fx
from workshop.workloads.openfl.fx import Fx, environment, log_tail

PROGRAM = """
import os, sys, time
print("cores", len(os.sched_getaffinity(0)), "log", os.environ.get("LOG_FILE"), flush=True)
if sys.argv[1] == "fail":
    sys.exit("no plan\\nis here")
if sys.argv[1] == "sleep":
    time.sleep(120)
"""
# A rank that starts two commands, says what their processes are, and waits to be killed.
RANK = """
import json, os, sys, time
from pathlib import Path
from workshop.workloads.openfl.fx import Fx
folder = Path(sys.argv[1])
fx = Fx(Path(sys.executable), folder, os.sched_getaffinity(0))
for name in "ab":
    fx.start("fx sleep", "here", folder, folder / name)
while not all((folder / name).exists() and b"cores" in (folder / name).read_bytes() for name in "ab"):
    time.sleep(0.05)
print(json.dumps([command.process.pid for command in fx.commands]), flush=True)
time.sleep(120)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which Python finds the stand-in for OpenFL."""
    program = tmp_path / "openfl" / "interface" / "cli.py"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM)
    return tmp_path


def test_a_log_is_shown_without_colours_and_without_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    assert log_tail(log) == b""
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIsecret\n-----END RSA PRIVATE KEY-----"
    log.write_text(f"\x1b[31mred\x1b[0m\n{key}\nend\n-----BEGIN PRIVATE KEY-----\ncut off")
    text = log_tail(log).decode()
    assert text == "red\n(a private key was here)\nend\n(a private key was here)"
    monkeypatch.setattr(fx, "LOG_LIMIT", 10)
    log.write_bytes(b"x" * 100)
    assert len(log_tail(log)) == 10


def test_variables_of_another_environment_and_proxies_stay_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMPI_X", "PYTHONPATH", "https_proxy", "HTTP_PROXY", "TAG"):
        monkeypatch.setenv(name, "x")
    found = environment(tmp_path)
    assert {"OMPI_X", "PYTHONPATH", "https_proxy", "HTTP_PROXY"}.isdisjoint(found)
    assert found["TAG"] == "x"
    assert found["HOME"] == str(tmp_path), "what somebody has in ~/.openfl changes nothing"


@pytest.mark.real
def test_commands_end_well_badly_late_or_when_the_run_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Fx(Path(sys.executable), folder, [min(os.sched_getaffinity(0))])
    try:
        done = runner.start("fx plan", "institution 1", folder, folder / "log", takes_part=True)
        runner.wait(done)
        shown = done.as_json()
        assert (shown["command"], shown["where"], shown["code"]) == ("fx plan", "institution 1", 0)
        assert shown["seconds"] > 0
        assert log_tail(folder / "log") == b"cores 1 log logs/fx.log\n"

        with pytest.raises(WorkshopError) as failed:
            runner.wait(runner.start("fx fail", "institution 1", folder, folder / "failed"))
        assert str(failed.value) == (
            "`fx fail` of institution 1 did not succeed (exit code 1); it says: cores 1 log None no plan is here"
        )

        monkeypatch.setattr(fx, "COMMAND_SECONDS", 0.1)
        late = runner.start("fx sleep", "x", folder, folder / "late")
        with pytest.raises(WorkshopError, match=r"`fx sleep` of x did not succeed within 0 s"):
            runner.wait(late)
    finally:
        runner.close()
    assert late.code == -signal.SIGKILL


@pytest.mark.real
def test_no_command_outlives_a_rank_that_is_killed(folder: Path) -> None:
    rank = subprocess.Popen([sys.executable, "-c", RANK, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert rank.stdout is not None
        children = [psutil.Process(pid) for pid in json.loads(rank.stdout.readline())]
        os.kill(rank.pid, signal.SIGKILL)
    finally:
        rank.kill()
        rank.communicate()
    until(
        lambda: not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE],
        limit(30),
        "the commands to end",
    )
