"""The line between ranks and conductor: nothing is lost, nothing is stored twice, strangers are not heard."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from tests.support import limit, until
from workshop.engine.reporter import Reporter
from workshop.sessions.channel import Channel
from workshop.store.store import Store


@pytest.fixture
def store(workshop_home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        opened.create_session("s", {})
        yield opened


@pytest.fixture
def channel(store: Store, tmp_path: Path) -> Iterator[Channel]:
    opened = Channel(store, tmp_path / "channel.json")
    yield opened
    opened.close()


def submit(store: Store) -> int:
    return store.submit(1, "tell", {}, {}).id


@pytest.fixture
def rank(channel: Channel) -> Iterator[Reporter]:
    opened = Reporter(json.loads(channel.file.read_text()), 3)
    yield opened
    opened.close()


def test_everything_arrives_in_order_before_the_last_word(store: Store, channel: Channel, rank: Reporter) -> None:
    run = submit(store)
    rank.begin(run)
    for step in range(50_000):
        rank.emit("value", step, step, 1.5)
    rank.progress(1, 2)
    rank.artifact("a.bin", b"\0\xff", "application/x-test")
    rank.emit("late", float("nan"), None, 2.0)
    rank.end({"kind": "finished", "metrics": {"m": 1}})
    events = store.events(run, names=["value"])
    assert [event.value for event in events] == list(range(50_000))
    assert store.totals(run)["late"][3][0] == 1
    assert store.artifact(run, "a.bin").data == b"\0\xff"
    assert store.missing_batches(run, 1_000_000) == {}
    word = channel.words.get(timeout=limit(20))  # the rank hears that all is stored a moment before
    assert (word.kind, word.run, word.rank, word.body["metrics"]) == ("finished", run, 3, {"m": 1})
    assert channel.private_bytes()[3] > 1 << 20
    (host,) = channel.hosts.values()
    assert list(channel.hosts) == [socket.gethostname()]
    assert set(host.private_bytes) == {3}
    assert 0 < host.available < host.total
    channel.forget_ranks()
    assert channel.hosts == {}


def test_files_of_one_name_that_come_quickly_are_stored_once_and_the_last_one_stays(
    store: Store, channel: Channel, rank: Reporter
) -> None:
    """A checkpoint after each of many short epochs would keep the store busy, and so the ranks' cores."""
    run = submit(store)
    rank.begin(run)
    for epoch in range(200):
        rank.artifact("checkpoint", b"%d" % epoch, "application/x-test")
    rank.artifact("other", b"other", "application/x-test")
    rank.end({"kind": "finished", "metrics": {}})
    assert store.artifact(run, "checkpoint").data == b"199"
    assert store.artifact(run, "other").data == b"other"
    last_word = channel.words.get(timeout=limit(20))
    assert last_word.body["number"] < 10  # messages in all


@pytest.mark.real
def test_a_rank_tells_what_its_neighbours_hold_in_the_same_look(channel: Channel, rank: Reporter) -> None:
    """One that fills the memory within a second has no turn of its own to tell it in time."""
    filling = "import time; kept = bytearray(b'1' * (300 << 20)); print(len(kept), flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", filling], stdout=subprocess.PIPE) as neighbour:
        try:
            assert neighbour.stdout is not None and neighbour.stdout.readline()
            rank.neighbours = {3: os.getpid(), 4: neighbour.pid}
            told = until(lambda: channel.private_bytes().get(4), 20, "the rank to tell of its neighbour")
            assert told > 300 << 20
            assert set(channel.hosts[socket.gethostname()].private_bytes) == {3, 4}
        finally:
            neighbour.kill()


def test_what_the_store_refuses_for_a_while_is_sent_again(
    store: Store, channel: Channel, rank: Reporter, monkeypatch: Any
) -> None:
    run = submit(store)
    refused = []
    add = store.add_batches

    def full_disk(batches: Any, progress: Any) -> int:
        if len(refused) < 2:
            refused.append(batches)
            raise OSError("No space left on device")
        return add(batches, progress)

    monkeypatch.setattr(store, "add_batches", full_disk)
    rank.begin(run)
    for step in range(10):
        rank.emit("value", step, step, 1.0)
    rank.end({"kind": "finished", "metrics": {}})
    assert len(refused) == 2
    assert [event.value for event in store.events(run)] == list(range(10))
    assert store.missing_batches(run, 1_000_000) == {}


def test_a_stop_request_reaches_the_rank(store: Store, channel: Channel, rank: Reporter) -> None:
    run = submit(store)
    rank.begin(run)
    assert not rank.stop_requested()
    rank.emit("value", 1, 1, 1.0)
    until(lambda: store.events(run), 20, "the rank to be known")
    channel.stop(run + 1)
    channel.stop(run)
    until(rank.stop_requested, 20, "the stop request")


def test_strangers_are_not_heard(store: Store, channel: Channel) -> None:
    run = submit(store)
    described = json.loads(channel.file.read_text())
    assert stat.S_IMODE(os.stat(channel.file).st_mode) == 0o600
    message = {"kind": "batch", "run": run, "rank": 0, "number": 1, "events": [[1.0, "x", 0, 1.0]], "progress": None}
    with zmq.Context() as context:
        line = context.socket(zmq.DEALER)
        line.linger = 0
        line.curve_publickey, line.curve_secretkey = zmq.curve_keypair()
        line.curve_serverkey = described["server_key"].encode()
        line.connect(described["address"])
        for token in ({}, {"token": "guess"}, {"token": 7}):
            line.send(json.dumps(message | token).encode())
        line.send(b"\x80\x03not json")
        assert not line.poll(700)
        line.close()
    assert store.events(run) == []
