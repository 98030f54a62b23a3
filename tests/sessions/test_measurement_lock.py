"""Who measures on this machine: one process at a time, and everybody can tell which."""

from __future__ import annotations

import getpass
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live_session import Session
from tests.support import limit, until
from workshop.core.errors import WorkshopError
from workshop.report.run_sections import turn
from workshop.report.sentences import state_words
from workshop.sessions import client, measurement_lock
from workshop.sessions.measurement_lock import holder, machine_held, refuse_wait
from workshop.store.records import RunRecord


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    return tmp_path / "lock"


def test_the_lock_says_who_holds_it_since_when(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/benchmarks", "kmeans", "--save", "/home/anna/secret"])
    assert not holder()
    with machine_held() as held:
        by = holder()
        assert held and by.startswith(f"process {os.getpid()} (benchmarks kmeans) of user {getpass.getuser()}, since ")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o666, "other users can read it, and wait for it"
        with machine_held("another") as again:
            assert not again and holder() == by
        with pytest.raises(WorkshopError, match=r"\(benchmarks kmeans\) of user .*--no-wait"):
            refuse_wait()
    assert not holder()
    refuse_wait()


@pytest.mark.parametrize("text", ["", "process \0\n\xff"])
def test_a_holder_whose_words_cannot_be_read_still_holds_the_lock(lock: Path, text: str) -> None:
    with machine_held():
        lock.write_text(text)
        assert "process" in str(holder())


@pytest.mark.real
def test_a_measured_run_waits_in_the_queue_and_goes_on_when_the_machine_is_free(session: Session) -> None:
    """The wait is none of the run's time, others go first, and a timeout doesn't count it."""
    # The lock of the machine itself, so that it is the one of the session's conductor.
    command = "import time; from workshop.sessions.measurement_lock import machine_held\n"
    command += "with machine_held(): print('held', flush=True); time.sleep(600)"
    other = subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None and any(line == "held\n" for line in other.stdout)
        run = client.submit(session.store, session.now, "tell", {"events": 1}, measured=True)
        until(lambda: session.now.message, 20, "the session to say for whom it waits")
        words = turn(session.store, run)
        assert words.startswith(f"Run {run.id} waits") and f"process {other.pid} (-c) of user" in words
        assert state_words(session.now) == words
        unmeasured = client.submit(session.store, session.now, "tell", {"events": 1})
        assert client.wait(session.store, unmeasured.id, timeout=limit(30)).status == "completed"
        assert session.store.run(run.id).status == "queued"
        said: list[str] = []
        with pytest.raises(KeyboardInterrupt):  # not that it takes too long
            client.wait(session.store, run.id, interrupting(looks=30), timeout=1.0, say=said.append)
        assert said == [words]
        other.kill()
        ended = client.wait(session.store, run.id, timeout=limit(30))
        assert ended.status == "completed" and ended.started_at is not None and ended.started_at > unmeasured.queued_at
        until(lambda: session.now.state == "ready" and not session.now.message, 20, "nothing more to say")
    finally:
        other.kill()
        other.communicate()


def interrupting(looks: int) -> Callable[[RunRecord], None]:
    """A look that ends a wait after so many looks, a tenth of a second apart."""
    left = iter(range(looks))

    def look(_: RunRecord) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return look
