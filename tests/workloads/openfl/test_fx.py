"""OpenFL's commands: run by one server, each with a limit of time, and none outlives its rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import openfl
from tests.support import limit, starts_processes, until
from workshop.core.errors import WorkshopError
from workshop.workloads.openfl import fx
from workshop.workloads.openfl.fx import Fx, log_tail

SLEEPS = "import sys, time\nprint('here', flush=True)\ntime.sleep(120)\n"
DEAF = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('here', flush=True)\ntime.sleep(120)\n"
# A rank that starts two commands, says what their processes are, and waits to be killed.
RANK = """
import json, sys, time
from pathlib import Path
import psutil
from workshop.workloads.openfl.fx import Fx
python, folder = map(Path, sys.argv[1:])
fx = Fx(python, folder)
commands = [fx.start(str(folder / "sleeps.py"), "here", folder, folder / f"{n}.log") for n in range(2)]
while not all((folder / f"{n}.log").exists() and b"here" in (folder / f"{n}.log").read_bytes() for n in range(2)):
    fx.look()
    time.sleep(0.05)
print(json.dumps([process.pid for process in psutil.Process().children(recursive=True)]), flush=True)
time.sleep(120)
"""


def waits(runner, command, seconds=60):
    def ended():
        runner.look()
        return not command.running

    until(ended, seconds, f"{command.words} to end")


def test_a_log_is_shown_without_colours_and_without_keys(tmp_path):
    log = tmp_path / "log"
    assert log_tail(log) == b""
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIsecret\n-----END RSA PRIVATE KEY-----"
    log.write_text(f"\x1b[31mred\x1b[0m\n{key}\nend\n-----BEGIN PRIVATE KEY-----\ncut off")
    text = log_tail(log).decode()
    assert text == "red\n(a private key was here)\nend\n(a private key was here)"
    log.write_bytes(b"x" * 100)
    assert len(log_tail(log, 10)) == 10


def test_variables_of_another_environment_and_proxies_stay_outside(tmp_path):
    given = {
        "OMPI_X": "1",
        "PYTHONPATH": "/x",
        "https_proxy": "http://x",
        "HTTP_PROXY": "x",
        "PATH": "/bin",
        "TAG": "1",
    }
    found = fx._environment(given, tmp_path)
    assert {name for name in given if name in found} == {"PATH", "TAG"}
    assert found["HOME"] == str(tmp_path), "what somebody has in ~/.openfl changes nothing"


@pytest.mark.real
def test_an_environment_that_lacks_something_is_told_in_a_sentence(tmp_path):
    bare = getattr(sys, "_base_executable", sys.executable)
    runner = Fx(Path(bare), tmp_path, variables={"PYTHONNOUSERSITE": "1"})
    try:
        with pytest.raises(WorkshopError, match=r"OpenFL's environment has ended unexpectedly .*No module named"):
            while True:
                runner.look()
                time.sleep(0.05)
    finally:
        runner.close()


@pytest.fixture(scope="module")
@starts_processes
def runner(tmp_path_factory):
    before = set(psutil.Process().children(recursive=True))  # what other tests' libraries keep
    found = Fx(openfl.python(), tmp_path_factory.mktemp("fx"), [min(os.sched_getaffinity(0))])
    yield found
    found.close()
    assert not set(psutil.Process().children(recursive=True)) - before


@pytest.mark.real
def test_commands_end_well_badly_late_or_when_they_are_asked(runner, tmp_path):
    log = tmp_path / "log"
    done = runner.start("fx --version", "institution 1", tmp_path, log)
    runner.wait(done)
    assert done.as_json() == {
        "command": "fx --version",
        "where": "institution 1",
        "seconds": done.seconds and round(done.seconds, 3),
        "code": 0,
    }
    assert "OpenFL version: 1.9" in log.read_text()

    with pytest.raises(WorkshopError) as failed:
        runner.wait(runner.start("fx workspace export", "institution 1", tmp_path, log))
    assert str(failed.value).startswith(
        "`fx workspace export` of institution 1 did not succeed (exit code 1); it says:"
    )
    assert "\n" not in str(failed.value)

    (tmp_path / "sleeps.py").write_text(SLEEPS)
    with pytest.raises(WorkshopError, match=r"did not succeed within 1 s; it says: .*(here|Keyboard)"):
        runner.wait(runner.start(str(tmp_path / "sleeps.py"), "x", tmp_path, tmp_path / "late.log", limit=1.0))

    (tmp_path / "deaf.py").write_text(DEAF)
    deaf = runner.start(str(tmp_path / "deaf.py"), "x", tmp_path, tmp_path / "deaf.log")
    until(lambda: log_tail(tmp_path / "deaf.log"), 30, "it to be deaf")
    runner.end(deaf)
    waits(runner, deaf)
    assert deaf.code == -signal.SIGKILL

    cores = tmp_path / "cores.py"
    cores.write_text("import os\nprint(sorted(os.sched_getaffinity(0)))\n")
    runner.wait(runner.start(str(cores), "x", tmp_path, tmp_path / "cores.log"))
    assert json.loads(log_tail(tmp_path / "cores.log")) == [min(os.sched_getaffinity(0))], "those that it was given"

    killed = runner.start(str(tmp_path / "sleeps.py"), "x", tmp_path, tmp_path / "killed.log")
    until(lambda: log_tail(tmp_path / "killed.log"), 30, "it to run")
    runner.signal(killed, signal.SIGKILL)
    waits(runner, killed)
    assert killed.code == -signal.SIGKILL


@pytest.mark.real
def test_nothing_outlives_a_rank_that_is_killed(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "sleeps.py").write_text(SLEEPS)
    rank = subprocess.Popen(
        [sys.executable, "-c", RANK, str(openfl.python()), str(folder)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert rank.stdout is not None
        children = [psutil.Process(pid) for pid in json.loads(rank.stdout.readline())]
        assert len(children) == 3, "the server and both commands"
        os.kill(rank.pid, signal.SIGKILL)
    finally:
        rank.kill()
        rank.wait()
        rank.stdout.close()
    _, alive = psutil.wait_procs(children, timeout=limit(30))
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    until(lambda: not folder.exists(), 30, "the folder, in which there may be keys, to be gone")
