"""A federation in a session: told live, cancelled within seconds, and gone with its conductor, also after kill -9."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests import openfl
from tests.conftest import leftovers
from tests.live_session import Session
from tests.support import limit, starts_processes, until
from workshop.core import config
from workshop.core.placement import Placement
from workshop.sessions import client, lifecycle
from workshop.store.records import RunRecord
from workshop.store.store import Store

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(1200))]
LONG = {"data": "digits", "model": "dense", "rounds": 200, "collaborators": 2, "images": 200}


@pytest.fixture
@starts_processes
def session(workshop_home: Path) -> Iterator[Session]:
    openfl.use(workshop_home)
    store = Store.open()
    record, conductor = lifecycle.start_session(store, "test", Placement(ranks=2))
    ready = lifecycle.wait_ready(store, record, conductor)
    yield Session(store, ready, workshop_home)
    lifecycle.stop_session(store, "test")
    conductor.wait(limit(10))
    store.close()


def commands(home: Path) -> list[psutil.Process]:
    """OpenFL's processes that belong to a state folder."""
    found = []
    for process in leftovers(home):
        with suppress(psutil.Error):  # it may end just now
            found += [process] if "openfl.interface.cli" in process.cmdline() else []
    return found


def begun(session: Session) -> RunRecord:
    """A federation whose first commands are up."""
    run = session.submit("openfl", **LONG)
    until(lambda: commands(session.home), 120, "OpenFL's first command")
    return run


def test_it_is_told_live_and_nothing_is_left_however_it_ends(session: Session) -> None:
    failing = session.submit("openfl", **LONG)
    until(lambda: session.store.totals(failing.id).get("held-out accuracy"), 400, "a round to end")
    told = client.read(session.store, failing.id).metrics
    assert (session.store.run(failing.id).activity or {})["words"] == "training"
    starts = [one["where"] for one in told["fx"] if "start" in one["command"] and one["code"] is None]
    assert sorted(starts) == ["institution 1", "institution 2", "the aggregator"], "they run"
    assert {one["name"] for one in told["certificates"]} == {"aggregator", "institution1", "institution2"}
    assert len(commands(session.home)) == 3

    listening = {
        one.laddr.ip
        for process in commands(session.home)
        for one in process.net_connections("inet")
        if one.status == psutil.CONN_LISTEN
    }
    assert listening and listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, "nobody else can reach the aggregator"

    newest = max(commands(session.home), key=lambda process: process.create_time())
    newest.kill()
    ended = session.wait(failing, 40)
    assert ended.status == "failed"
    # Both begin within the same hundredth of a second.
    assert re.search("OpenFL's process of institution [12] ended in round", ended.error["message"]), ended.error
    until(lambda: not commands(session.home), 20, "OpenFL's processes to end")

    cancelled = begun(session)
    client.cancel(session.store, cancelled.id)
    ended = session.wait(cancelled, 40)
    assert ended.status == "cancelled"
    until(lambda: not commands(session.home), 20, "OpenFL's processes to end")
    temporary = config.session_folder(session.record.id) / config.TEMPORARY
    until(lambda: not list(temporary.glob("workshop-openfl-*")), 10, "keys to be removed")

    begun(session)
    os.kill(session.now.conductor_pid, signal.SIGKILL)
    until(lambda: not commands(session.home), 30, "OpenFL's processes to end with the conductor")
