"""A real JupyterLab, as `workshop up` keeps it: what is in it, who gets in, and that nothing is left of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import leftovers
from tests.notebook.jupyter.lab import Lab, process, running, words
from tests.support import limit, starts_processes, until
from workshop.core import config
from workshop.core.ports import free_ports
from workshop.notebook.jupyter.child import JupyterLab
from workshop.store.store import Store
from workshop.web import auth

pytestmark = pytest.mark.real
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
DASHBOARD = "http://127.0.0.1:8501"
# A process that only SIGKILL ends, in a session of its own: what a learner's terminal or kernel may leave.
STUBBORN = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for one in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    print("it is stub" + "born", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder for all tests of this file that share a JupyterLab."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("shared") / "home"
        patch.setenv("WORKSHOP_HOME", str(folder))
        for name in ("WORKSHOP_DATABASE_URL", "WORKSHOP_NOTEBOOKS", "WORKSHOP_LEARNER", "JUPYTERHUB_USER"):
            patch.delenv(name, raising=False)
        yield folder
    assert leftovers(folder) == []


@pytest.fixture(scope="module")
@starts_processes
def shared(home: Path) -> Iterator[tuple[JupyterLab, Lab, list[str]]]:
    with running(DASHBOARD) as one:
        yield one


@pytest.fixture
def lab(shared: tuple[JupyterLab, Lab, list[str]]) -> Lab:
    return shared[1]


def test_nobody_gets_in_without_the_token(lab: Lab) -> None:
    for path in ("/api/contents", "/workshop/course", "/api/kernels"):
        assert lab.refuses(path, Authorization="token guessed") == 403
    assert lab.refuses("/workshop/enter", "POST", Authorization="token guessed") == 403
    assert lab.refuses("/api/contents", Host="evil.example.org") == 403  # a page elsewhere that points its name here


def test_the_page_learns_of_dashboard_and_labs(lab: Lab) -> None:
    told = lab.ask("/workshop/course")
    assert told["dashboard"] == DASHBOARD
    assert told["labs"][0] == {"number": "0", "title": "First contact", "path": "0-first.ipynb"}
    numbers = [int(lab_tile["number"]) for lab_tile in told["labs"]]
    assert numbers == sorted(numbers)


def test_a_ticket_lets_the_page_in_once(lab: Lab, home: Path) -> None:
    ticket = lab.ask("/workshop/enter", "POST")["ticket"]
    with Store.open() as store:
        assert store.take_ticket(auth.hashed(ticket))
        assert not store.take_ticket(auth.hashed(ticket))


def test_a_kernel_finds_the_workshop(lab: Lab, home: Path) -> None:
    kernel = lab.kernel()
    names = ("WORKSHOP_HOME", "WORKSHOP_DASHBOARD", "JUPYTER_TOKEN", "IPYTHONDIR")
    told = lab.run(
        kernel,
        "import json, os, shutil, workshop\n"
        f"print(json.dumps([[os.environ.get(n) for n in {names}], shutil.which('mpirun'), shutil.which('workshop')]))",
    )
    (state, dashboard, token, ipython), mpirun, command = json.loads(told)
    assert (state, dashboard, token) == (str(home), DASHBOARD, None)
    assert ipython.startswith(str(home))
    assert [mpirun, command] == [str(Path(sys.prefix) / "bin" / "mpirun"), WORKSHOP]


def test_mpirun_works_in_a_terminal(lab: Lab) -> None:
    seen = lab.type("mpirun -n 2 --oversubscribe python labs/first/pi.py; echo left with $?", "left with 0")
    assert "3.14" in seen


def test_a_cluster_of_the_panel_starts_and_stops(lab: Lab, home: Path) -> None:
    name = lab.cluster()
    code = "import ipyparallel; client = ipyparallel.Client(); client.wait_for_engines(2, timeout=90)\n"
    code += "print(sorted(client[:].apply_sync(lambda: __import__('mpi4py.MPI').MPI.COMM_WORLD.rank)))"
    assert "[0, 1]" in lab.run(lab.kernel(), code)
    lab.ask(f"/ipyparallel/clusters/{name}", "DELETE")
    until(lambda: not any("ipyparallel.engine" in words(one) for one in leftovers(home)), 60, "engines to end")


def test_scripts_are_opened_as_they_are(lab: Lab) -> None:
    assert lab.ask("/api/contents/labs/first/pi.py")["type"] == "file"
    assert lab.refuses("/api/contents/labs/first/pi.py?type=notebook") == 400


def test_the_token_is_nowhere_to_be_read(shared: tuple[JupyterLab, Lab, list[str]], home: Path) -> None:
    child, lab, said = shared
    lab.refuses(f"/api/nothing?token={child.token}")  # which is logged
    assert child.token not in "".join(said)
    assert child.token not in (home / "jupyterlab.log").read_text()
    for one in leftovers(home):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            assert child.token not in " ".join([*one.cmdline(), *one.environ().values()])


def test_killed_it_is_noticed_and_leaves_nothing(workshop_home: Path) -> None:
    with running() as (child, lab, _):
        kernel = lab.kernel()
        stubborn = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])"
        lab.run(kernel, stubborn)
        process(workshop_home, STUBBORN)
        (config.learners_folder() / "0-first.ipynb").write_text("mine")
        process(workshop_home, "--serve").kill()
        until(lambda: not child.alive(), 30, "its end to be noticed")
        assert leftovers(workshop_home) == []

        child.start()  # as `workshop up` does: at the same link
        child.wait_ready(threading.Event())
        assert lab.answers()
        assert (config.learners_folder() / "0-first.ipynb").read_text() == "mine"

        # Without its keeper, JupyterLab ends what it knows of, and the next start what is left.
        lab.run(lab.kernel(), stubborn)
        process(workshop_home, STUBBORN)
        process(workshop_home, "--serve").parent().kill()
        until(lambda: not child.alive(), 30, "the keeper's end to be noticed")
        child.start()
        child.wait_ready(threading.Event())
        assert lab.answers()
        assert not any(STUBBORN in words(one) for one in leftovers(workshop_home))


def test_its_keeper_has_the_time_to_end_what_is_deaf(workshop_home: Path) -> None:
    with running() as (child, lab, _):
        lab.run(lab.kernel(), f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}])")
        process(workshop_home, "--serve").suspend()
        child.ask_to_end()
        child.end()
        assert child._process is not None and child._process.returncode == 0, "it was not killed"
        assert leftovers(workshop_home) == []


def test_it_ends_with_up_whatever_it_has_started(workshop_home: Path) -> None:
    """kill -9 of `workshop up`: kernels, terminals, clusters of the panel, private sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHELL", "/bin/bash")
        port, labs = map(str, free_ports(2))
        words = [WORKSHOP, "up", "--json", "--port", port, "--lab-port", labs]
        up = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.rstrip().endswith("}\n}") and (line := up.stdout.readline()):
            text += line
        assert text, up.stderr.read()
        answer = json.loads(text)
        lab = Lab(answer["links"]["jupyterlab"])
        until(lab.answers, 120, "JupyterLab to answer")
        with urllib.request.urlopen(f"{answer['url']}/join", timeout=limit(30)) as page:
            frames = page.headers["content-security-policy"].partition("frame-ancestors ")[2]
        assert frames.split() == ["'self'", lab.url, lab.url.replace("127.0.0.1", "localhost")]
        kernel = lab.kernel()
        private = (
            "from workshop.store.store import Store\nfrom workshop.sessions import lifecycle\n"
            "from workshop.core.placement import Placement\n"
            "print(lifecycle.start_session(Store.open(), 'mine', Placement(), private=True, attached=True)[0].name)"
        )
        assert "mine" in lab.run(kernel, private)
        (config.learners_folder() / "stubborn.py").write_text(STUBBORN)
        lab.type("python stubborn.py", "it is stubborn")
        lab.cluster()
        up.send_signal(signal.SIGKILL)
    finally:
        up.kill()
        up.communicate(timeout=limit(20))
        until(lambda: not leftovers(workshop_home), 90, "everything to end after kill -9 of `workshop up`")
