"""`workshop demo hosts`: hosts that stay, with a session on them."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.hosts import WORKSHOP, emulated
from tests.support import limit, until
from workshop.store.store import Store

pytestmark = pytest.mark.real


def demo(*words: str, seconds: float = 200) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*WORKSHOP, "demo", "hosts", *words], capture_output=True, text=True, timeout=limit(seconds))


@contextmanager
def keeping(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs on, until it is killed at the latest."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as keeper:
        try:
            yield keeper
        finally:
            keeper.kill()


def test_what_is_wrong_is_told_before_anything_starts(workshop_home: Path) -> None:
    for words, said in (
        (["--link", "fast"], "link is 'fast': it should be like 100mbit"),
        (["--hosts", "1"], "a session on several hosts takes at least 2"),
    ):
        done = demo(*words, seconds=30)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.exhaustive)])
def test_hosts_that_stay(workshop_home: Path, how: signal.Signals) -> None:
    with emulated(1):
        pass
    command = [*WORKSHOP, "demo", "hosts", "--hosts", "2", "--json"]
    with Store.open() as store, keeping(*command) as keeper:
        until(lambda: [s for s in store.sessions() if s.state == "ready"], 90, "the session")
        ours = psutil.Process(keeper.pid).children(recursive=True)
        words = ["run", "kmeans", "--data", "blobs", "--points", "1000", "--backend", "numpy", "--session", "hosts"]
        ran = subprocess.run([*WORKSHOP, *words, "--json"], capture_output=True, text=True, timeout=limit(120))
        assert ran.returncode == 0, ran.stderr
        assert [rank["host"] for rank in json.loads(ran.stdout)["rank_map"]["ranks"]] == ["hostA", "hostB"]
        keeper.send_signal(how)
        keeper.wait(limit(90))
        assert keeper.returncode == (130 if how == signal.SIGINT else -how)
        _, alive = psutil.wait_procs(ours, timeout=limit(60))
        assert not alive
        until(lambda: store.session("hosts").state in ("stopped", "lost"), 60, "the session's end")


def is_conductor(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "workshop.sessions.conductor" in process.cmdline()
    return False


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("stopped", 0, "The session was stopped; the hosts have ended, too."),
        ("killed", 1, "Session hosts has ended: its conductor was ended"),
    ],
)
def test_hosts_end_with_their_session(workshop_home: Path, how: str, code: int, said: str) -> None:
    with emulated(1):
        pass
    with keeping(*WORKSHOP, "demo", "hosts", "--hosts", "2") as keeper:
        assert keeper.stderr is not None
        until(lambda: "Ctrl-C ends" in keeper.stderr.readline(), 90, "the command to know that its session is ready")
        ours = psutil.Process(keeper.pid).children(recursive=True)
        if how == "stopped":
            stopped = subprocess.run(
                [*WORKSHOP, "session", "stop", "hosts"], capture_output=True, text=True, timeout=limit(60)
            )
            assert stopped.returncode == 0, stopped.stderr
        else:
            (conductor,) = [one for one in ours if is_conductor(one)]
            conductor.kill()
        _, told = keeper.communicate(timeout=limit(90))
        assert keeper.returncode == code
        assert said in told
        _, alive = psutil.wait_procs(ours, timeout=limit(60))
        assert not alive
