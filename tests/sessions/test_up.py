"""`workshop up`: one command brings up a session and the dashboard, keeps both up, and ends both."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.conftest import leftovers
from tests.support import limit, starts_processes, until
from workshop.core import processes
from workshop.core.ports import free_port
from workshop.sessions import client
from workshop.store.store import Store

pytestmark = pytest.mark.real
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


@dataclass
class Up:
    process: subprocess.Popen[str]
    answer: dict
    home: Path
    store: Store

    def dashboard(self) -> psutil.Process | None:
        found = [p for p in leftovers(self.home) if "workshop.web.server" in processes.command(p)]
        return found[0] if found else None

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.answer['url']}/join", timeout=limit(5)) as reply:
                return reply.status == 200
        except OSError:
            return False


@pytest.fixture
@starts_processes
def up(workshop_home: Path, probe_workloads: None) -> Iterator[Up]:
    words = [WORKSHOP, "up", "--no-lab", "--port", str(free_port()), "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = ""
    while not text.rstrip().endswith("}\n}") and (line := process.stdout.readline()):
        text += line
    assert text, process.stderr.read()
    with Store.open() as store:
        yield Up(process, json.loads(text), workshop_home, store)
    process.kill()
    process.communicate(timeout=limit(20))
    until(lambda: not leftovers(workshop_home), 40, "everything to end after kill -9 of `workshop up`")


def test_it_comes_up_stays_up_and_ends_on_ctrl_c(up: Up) -> None:
    assert up.answers()
    assert up.answer["links"]["instructor"].startswith(up.answer["url"])
    assert "token=" not in Path(up.home / "dashboard.log").read_text()

    second = subprocess.run(
        [WORKSHOP, "up", "--port", str(free_port())], capture_output=True, text=True, timeout=limit(30)
    )
    assert second.returncode == 2
    assert "runs already" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1

    # The dashboard dies in the middle of a run: the run doesn't mind, the dashboard comes back.
    session = up.store.session("workshop")
    run = client.submit(up.store, session, "tell", {"events": 60, "every": 0.05})
    until(lambda: up.store.totals(run.id).get("value"), 30, "the run to tell something")
    first = up.dashboard()
    first.kill()
    ended = client.wait(up.store, run.id, timeout=limit(60))
    assert (ended.status, ended.metrics["told"]) == ("completed", 120)
    until(up.answers, 40, "the dashboard to answer again")
    assert up.dashboard().pid != first.pid

    # The conductor dies: its run is interrupted, another conductor takes the next.
    run = client.submit(up.store, session, "tell", {"events": 1000, "every": 0.05})
    until(lambda: up.store.totals(run.id).get("value"), 60, "the run to tell something")
    os.kill(up.store.session("workshop").conductor_pid, signal.SIGKILL)
    until(lambda: up.store.run(run.id).status == "interrupted", 60, "the run to be interrupted")
    following = client.submit(up.store, up.store.session("workshop"), "tell", {"events": 1})
    assert client.wait(up.store, following.id, timeout=limit(120)).status == "completed"

    up.process.send_signal(signal.SIGINT)
    _, err = up.process.communicate(timeout=limit(40))
    assert up.process.returncode == 0, err
    assert "Everything has ended." in err
    assert leftovers(up.home) == []
    assert up.store.session("workshop").state == "stopped"


def test_kill_9_leaves_nothing(up: Up) -> None:
    run = client.submit(up.store, up.store.session("workshop"), "tell", {"events": 1000, "every": 0.05})
    until(lambda: up.store.totals(run.id).get("value"), 30, "the run to tell something")
    up.process.kill()
    until(lambda: not leftovers(up.home), 40, "everything to end")
    assert up.store.run(run.id).status in ("cancelled", "interrupted")


def test_a_port_in_use_starts_nothing(workshop_home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run([WORKSHOP, "up", "--port", str(port)], capture_output=True, text=True, timeout=limit(30))
    assert ended.returncode == 2
    assert f"Port {port}" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert leftovers(workshop_home) == []
