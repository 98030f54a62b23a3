"""Finding a session from a notebook, starting one of its own, and what happens when it dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import leftovers
from tests.notebook.kernel import Kernel, kernel
from tests.notebook.sessions import WORK, ended, going, meanwhile, process_of, running, shown
from tests.support import limit, starts_processes, until
from tests.web import seed
from workshop.core import processes
from workshop.core.placement import Placement
from workshop.store.records import Limits, SessionRecord
from workshop.store.store import Store

ATTACH = "import workshop\nsession = workshop.attach()"
ENDS = 30.0  # seconds within which all processes of a session have ended, on a machine that is busy


@pytest.fixture
@starts_processes
def notebook(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    for name in ("WORKSHOP_LEARNER", "JUPYTERHUB_USER", "WORKSHOP_DASHBOARD"):
        monkeypatch.delenv(name, raising=False)
    with kernel() as started:
        yield started
    ended(workshop_home)


def kill(session: SessionRecord) -> None:
    """Kill a session's conductor; its ranks end with it."""
    assert session.conductor_pid is not None
    os.kill(session.conductor_pid, signal.SIGKILL)


def ends(session: SessionRecord) -> None:
    tag = processes.session_tag(session.id)
    until(lambda: not processes.tagged(processes.TAG, tag), ENDS, f"session {session.name} to end")


@pytest.mark.real
def test_a_private_session_starts_and_ends_with_its_kernel(store: Store, workshop_home: Path) -> None:
    with kernel() as notebook:
        notebook.run(ATTACH)
        said = shown(notebook)
        assert "No session is up, so this starts a private one of 2 ranks. It ends with this notebook." in said
        (record,) = store.sessions()
        assert (record.private, record.state, record.placement["ranks"]) == (True, "ready", 2)
        assert notebook.run("workshop.attach() is session") == "True"
        assert f"Session {record.name} is ready: 2 ranks × 1 thread\non " in notebook.run("session")
        assert "rank 1" in notebook.run("session.rank_map()")
        assert "completed" in notebook.run(f"session.run('kmeans', {WORK}).status")
        # With a shared one up, the notebook keeps what it has unless it asks by name.
        with running(store, "class", ranks=1):
            assert notebook.run("workshop.attach() is session") == "True"
            assert notebook.run("workshop.attach('class').name") == "'class'"
            assert notebook.run("workshop.attach().name") == "'class'"
        # The kernel is killed now, as by JupyterLab's restart.
    ends(record)
    ended(workshop_home)


@pytest.mark.real
def test_a_private_session_ends_quickly_with_a_script(store: Store) -> None:
    code = f"{ATTACH}\nprint(session.run('kmeans', {WORK}).status)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(120))
    assert done.stdout.splitlines() == ["completed"], done.stderr
    assert "starts a private one" in done.stderr
    (record,) = store.sessions()
    ends(record)
    assert store.session(record.id).state == "stopped"


def test_the_newest_shared_session_or_the_one_of_that_name(store: Store, notebook: Kernel) -> None:
    with seed.alive(store, "older"), seed.alive(store, "newer"):
        store.create_session("private", Placement(ranks=1).as_json(), private=True)
        assert notebook.run(f"{ATTACH}\nsession.name") == "'newer'"
        assert notebook.run("workshop.attach('older').name") == "'older'"
        told = notebook.run("workshop.attach('none')")
        assert told == "There is no session 'none'; there are newer, older."
        assert "not both" in notebook.run("workshop.attach('older', private=True)")
    assert "Session older is stopped; " in notebook.run("workshop.attach('older')")


def test_a_session_that_died_is_one_sentence_and_a_way_on(store: Store, notebook: Kernel) -> None:
    long = "data='blobs', points=2000, iterations=400, tolerance=0, pace=0.2"
    with running(store) as session:
        assert notebook.run(f"{ATTACH}\nsession.name") == "'class'"
        with meanwhile(notebook, f"session.run('kmeans', {long})") as said:
            going(store)
            kill(session)
        assert "Traceback" not in said[0]
        assert any("interrupted" in text for text in shown(notebook)), said
        until(lambda: not store.session(session.id).up, 30, "the session to read lost")
        told = notebook.run("session.run('kmeans')")
        assert told == "Session class has died; take another one with `session = workshop.attach()`."
        for other in ("session.rank_map()", "session.study('scaling', 'kmeans')"):
            assert notebook.run(other) == told
        assert "class is lost" in notebook.run("session")
        assert notebook.run("session = workshop.attach()\nsession.private").endswith("True")
        assert notebook.run(f"session.run('kmeans', {WORK}).status").endswith("'completed'")


@pytest.mark.real
def test_a_learners_limits_hold_and_runs_have_their_name(
    store: Store, workshop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "grace")
    monkeypatch.setenv("WORKSHOP_LEARNER", " ada ")
    with running(store) as session, kernel() as notebook:
        store.update_session(session.id, limits=Limits(ranks=2, threads=2, queued=1))
        assert notebook.run(f"{ATTACH}\nfrom workshop.course import learner\nlearner.name()") == "'ada'"
        assert notebook.run("session.run('kmeans', ranks=3)") == "ranks is 3: this session allows at most 2."
        told = notebook.run("session.study('scaling', 'kmeans', ranks=[1, 4])")
        assert told == "ranks is 4: this session allows at most 2."
        assert "Learners can't set LD_PRELOAD" in notebook.run(
            "session.run('kmeans', environment={'LD_PRELOAD': 'evil.so'})"
        )
        assert store.runs() == []
        notebook.run(f"session.run('kmeans', {WORK})")
        (run,) = store.runs()
        assert (run.submitted_by, run.status) == ("ada", "completed")
        assert notebook.run("session.runs().run.tolist()") == f"[{run.id}]"
        # Another notebook of hers is the same learner; others' runs aren't hers.
        with kernel() as second:
            second.run(f"{ATTACH}\nsession.run('kmeans', {WORK})")
        monkeypatch.delenv("WORKSHOP_LEARNER")
        with kernel() as other:
            assert other.run(f"{ATTACH}\nlen(session.runs())") == "0"
            other.run(f"session.run('kmeans', {WORK})")
        assert [one.submitted_by for one in store.runs()] == ["grace", "ada", "ada"]
        assert len({one.identity_id for one in store.runs()}) == 2


def test_a_kernel_that_is_killed_leaves_nothing(notebook: Kernel, store: Store, workshop_home: Path) -> None:
    notebook.run(ATTACH)
    pid = process_of(notebook)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not psutil.pid_exists(pid) or _zombie(pid), ENDS, "the kernel to end")
    until(lambda: not [one for one in leftovers(workshop_home) if one.pid != pid], ENDS, "its session to end")


def _zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
