"""What was written to a pipe has arrived, or the wait has an end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support import limit
from workshop.engine import cells


class Stream:
    """A standard stream as ipykernel has them, whose thread takes its time between reading and writing."""

    def __init__(self, slow: float) -> None:
        self._fid, self.written = os.pipe()
        self.arrived: list[bytes] = []
        self._slow = slow
        self.watch_fd_thread = threading.Thread(target=self._watch, daemon=True)
        self.watch_fd_thread.start()

    def _watch(self) -> None:
        while read := os.read(self._fid, 1000):
            time.sleep(self._slow)
            self.arrived.append(read)

    def close(self) -> None:
        os.close(self.written)
        self.watch_fd_thread.join(limit(10))
        os.close(self._fid)


@pytest.fixture
def streams() -> Iterator[list[Stream]]:
    made = [Stream(0.1), Stream(0.0)]
    yield made
    for stream in made:
        stream.close()


def test_what_is_in_a_pipe_or_was_read_is_waited_for(streams: list[Stream], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST", 20.0)  # for threads that wait long for their turn
    for number in range(20):
        for stream in streams:
            os.write(stream.written, b"%d" % number)
        cells.drain(streams)
        assert [stream.arrived[-1] for stream in streams] == [b"%d" % number] * 2


def test_nothing_to_wait_for(streams: list[Stream]) -> None:
    cells.drain([object()])  # a stream that nobody reads: a file, say
    cells.drain(streams)
    assert [stream.arrived for stream in streams] == [[], []]


def test_somebody_who_goes_on_writing_is_not_waited_for_for_ever(streams: list[Stream]) -> None:
    ending = threading.Event()

    def write() -> None:
        while not ending.is_set():
            os.write(streams[0].written, b"y\n")
            time.sleep(0.01)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        cells.drain(streams)  # it returns
    finally:
        ending.set()
        writer.join(limit(10))
