"""Leases: wanted, held, ended, and nothing else."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from workshop.core.errors import BadInput
from workshop.store.records import Lease
from workshop.store.store import Store


def ask(store: Store, session_id: int, holder: str = "ada's notebook", pid: int = 7) -> Lease:
    return store.ask_lease(session_id, holder, "host", pid, 1234.5)


def test_from_wanted_to_held_to_ended(store: Store) -> None:
    session = store.create_session("class", {"ranks": 2})
    began = time.time()
    asked = ask(store, session.id)
    assert (asked.session_id, asked.holder, asked.host, asked.pid, asked.pid_began_at) == (
        session.id,
        "ada's notebook",
        "host",
        7,
        1234.5,
    )
    assert (asked.state, asked.why, asked.held_at, asked.ended_at) == ("wanted", "", None, None)
    assert began - 1 <= asked.asked_at == asked.heartbeat_at <= time.time() + 1
    assert store.leases(session.id) == [asked]

    assert store.hold_lease(asked.id) and not store.hold_lease(asked.id), "once"
    held = store.lease(asked.id)
    assert held.state == "held" and held.held_at is not None and held.held_at >= asked.asked_at
    assert store.lease_heartbeat(asked.id)
    assert store.lease(asked.id).heartbeat_at >= held.heartbeat_at
    assert store.tell_lease(asked.id, "rank 1 was ended by SIGKILL")
    assert store.lease(asked.id).why == "rank 1 was ended by SIGKILL"

    assert store.end_lease(asked.id, "the instructor took them back")
    ended = store.lease(asked.id)
    assert (ended.state, ended.why) == ("ended", "the instructor took them back") and ended.ended_at is not None
    assert store.leases(session.id) == []


def test_what_has_ended_stays_so(store: Store) -> None:
    session = store.create_session("class", {})
    lease = ask(store, session.id)
    assert store.end_lease(lease.id, "first")
    ended = store.lease(lease.id)
    assert not store.end_lease(lease.id, "second")
    assert not store.hold_lease(lease.id)
    assert not store.tell_lease(lease.id, "third")
    assert not store.lease_heartbeat(lease.id)
    assert store.end_leases(session.id, "fourth") == 0
    assert store.lease(lease.id) == ended


def test_the_oldest_comes_first_and_each_session_has_its_own(store: Store) -> None:
    one, other = store.create_session("one", {}), store.create_session("other", {})
    asked = [ask(store, one.id, f"notebook {number}", number) for number in range(3)]
    elsewhere = ask(store, other.id)
    store.hold_lease(asked[0].id)
    assert [lease.id for lease in store.leases(one.id)] == [lease.id for lease in asked]
    store.end_lease(asked[1].id)
    assert [(lease.id, lease.state) for lease in store.leases(one.id)] == [
        (asked[0].id, "held"),
        (asked[2].id, "wanted"),
    ]
    assert store.end_leases(one.id, "the session was stopped") == 2
    assert store.leases(one.id) == [] and store.leases(other.id) == [elsewhere]
    assert [store.lease(lease.id).why for lease in asked] == ["the session was stopped", "", "the session was stopped"]


def test_who_finds_a_lease_ended_finds_its_session_ended_too(store: Store) -> None:
    for number in range(30):
        session = store.create_session(f"s{number}", {})
        store.update_session(session.id, state="leased")
        lease = ask(store, session.id)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(store.end_session, session.id, "failed", "hostB is lost")
            while (seen := store.lease(lease.id)).state != "ended":
                pass
            read = store.session(session.id)
            writing.result(10)
        assert (seen.why, read.up, read.message) == ("hostB is lost", False, "hostB is lost")


def test_nothing_there(store: Store) -> None:
    with pytest.raises(BadInput, match="no session with the id 99"):
        ask(store, 99)
    with pytest.raises(BadInput, match="no lease 99"):
        store.lease(99)
    assert store.leases(99) == [] and store.end_leases(99, "") == 0
    assert not store.end_lease(99) and not store.hold_lease(99)


def test_one_of_many_that_end_it_at_once_has_ended_it(store: Store) -> None:
    session = store.create_session("class", {})
    lease = ask(store, session.id, "ada <b>'s \N{SNOWMAN}")
    with ThreadPoolExecutor(4) as threads:
        ended = list(threads.map(lambda number: store.end_lease(lease.id, f"by {number}"), range(8)))
    assert ended.count(True) == 1
    assert store.lease(lease.id).why == f"by {ended.index(True)}"
    assert store.lease(lease.id).holder == "ada <b>'s \N{SNOWMAN}"
