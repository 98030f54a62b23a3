"""Sessions: names, states, requests, and what a silent conductor looks like."""

from __future__ import annotations

import time

import pytest

from workshop.core.errors import BadInput
from workshop.store.records import Limits
from workshop.store.sessions import SILENT
from workshop.store.store import Store
from workshop.store.tables import sessions


def silence(store: Store, session_id: int, seconds: float = SILENT + 1) -> None:
    """Make the last heartbeat that much older."""
    with store.database.writing() as connection:
        connection.execute(
            sessions.update().where(sessions.c.id == session_id).values(heartbeat_at=time.time() - seconds)
        )


def test_a_new_session(store: Store) -> None:
    limits = Limits(ranks=4, threads=2, minutes=1.5, queued=1)
    made = store.create_session("demo", {"ranks": 2}, limits, private=True, machine={"host": "h"})
    assert (made.name, made.state, made.message, made.private) == ("demo", "starting", "", True)
    assert (made.placement, made.limits, made.machine) == ({"ranks": 2}, limits, {"host": "h"})
    assert made.rank_map is None and made.conductor_pid is None
    assert not made.stop_requested and not made.reset_requested
    assert store.session("demo") == store.session(made.id) == made
    assert store.create_session("other", {}).limits == Limits()


@pytest.mark.parametrize("name", ["", "Demo", "a b", "x" * 41, "läb", "a/b", "demo\n"])
def test_names_that_are_none(store: Store, name: str) -> None:
    with pytest.raises(BadInput, match="1 to 40"):
        store.create_session(name, {})


def test_a_name_that_is_taken(store: Store) -> None:
    first = store.create_session("demo", {"ranks": 2})
    with pytest.raises(BadInput, match="demo is starting already"):
        store.create_session("demo", {"ranks": 4})
    silence(store, first.id)
    with pytest.raises(BadInput, match="workshop session stop demo"):
        store.create_session("demo", {"ranks": 4})
    assert store.session("demo").placement == {"ranks": 2}


@pytest.mark.parametrize("ended", ["stopped", "failed"])
def test_a_session_that_ended_begins_again_with_its_history(store: Store, ended: str) -> None:
    first = store.create_session("demo", {"ranks": 2})
    run = store.submit(first.id, "kmeans", {}, {})
    store.update_session(first.id, state=ended, message="done", conductor_pid=7, rank_map={"ranks": []})
    store.request_stop(first.id)
    again = store.create_session("demo", {"ranks": 4})
    assert again.id == first.id and again.state == "starting" and again.placement == {"ranks": 4}
    assert (again.message, again.conductor_pid, again.rank_map, again.stop_requested) == ("", None, None, False)
    assert [known.id for known in store.runs(session_id=again.id)] == [run.id]


def test_only_what_is_given_changes(store: Store) -> None:
    made = store.create_session("demo", {"ranks": 2}, machine={"host": "h"})
    store.update_session(made.id, state="ready", rank_map={"ranks": [{"rank": 0}]}, conductor_pid=42)
    store.update_session(made.id, message="run 1")
    store.update_session(made.id, limits=Limits(ranks=1))
    now = store.session("demo")
    assert (now.state, now.message, now.conductor_pid) == ("ready", "run 1", 42)
    assert (now.rank_map, now.machine, now.limits) == ({"ranks": [{"rank": 0}]}, {"host": "h"}, Limits(ranks=1))
    store.update_session(made.id, rank_map=None)
    assert store.session("demo").rank_map is None


def test_a_session_whose_conductor_is_silent_reads_lost(store: Store) -> None:
    made = store.create_session("demo", {})
    store.update_session(made.id, state="running")
    silence(store, made.id, SILENT - 2)
    assert store.session("demo").state == "running"
    silence(store, made.id)
    assert store.session("demo").state == "lost"
    assert [known.state for known in store.sessions()] == ["lost"]
    store.heartbeat(made.id)
    assert store.session("demo").state == "running", "it was only busy"
    silence(store, made.id)
    store.update_session(made.id, state="starting")
    assert store.session("demo").state == "starting", "another conductor has the time to be heard"
    for ended in ("stopped", "failed"):
        store.update_session(made.id, state=ended)
        silence(store, made.id)
        assert store.session("demo").state == ended, "nobody has to be heard of it any more"


def test_a_session_that_is_not_there(store: Store) -> None:
    with pytest.raises(BadInput, match="none yet"):
        store.session("demo")
    store.create_session("demo", {})
    store.create_session("private-1", {}, private=True)
    with pytest.raises(BadInput, match=r"no session 'dem'; there are demo\.$"):
        store.session("dem")
    with pytest.raises(BadInput, match="no session 99"):
        store.session(99)
    for change in (store.heartbeat, store.request_stop, store.clear_reset):
        with pytest.raises(BadInput, match="99"):
            change(99)
