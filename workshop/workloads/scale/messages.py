"""All-reduces whose messages are sent by ourselves, also over an emulated link between hosts.

An emulated link holds a message back: a receiver doesn't use it before it would have arrived. The header of a message
says when its first byte left, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import Algorithm, NetworkLink, Rounds, rounds

Array = NDArray[Any]
HEADER = 8  # bytes: the time as a float64
SPIN = 150e-6  # seconds before a deadline from which on sleeping would be too coarse
LOOK = 50e-6  # seconds between looks for a message
TAG = 71


def wait_until(deadline: float) -> None:
    """Wait for a moment of time.monotonic(). A long wait needs no processor, so that many ranks can share few cores."""
    while (pause := deadline - time.monotonic() - SPIN) > 0:
        time.sleep(pause)
    while time.monotonic() < deadline:
        pass


class Messenger:
    """Sends and receives arrays of float32 or float16. `per_host`: ranks of a host; 0: all ranks are on one host.
    `link`: the emulated link between hosts; None: hosts have their real link."""

    def __init__(self, comm: Any, per_host: int, link: NetworkLink | None, half: bool = False) -> None:
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self.per_host, self.link = per_host, link
        self.dtype = np.dtype(np.float16 if half else np.float32)
        self.messages = self.bytes = 0  # that this rank has sent
        self.stopped = False  # another thread sets it, and then all waits raise InterruptedError
        self._sending = self._receiving = 0.0  # until when this rank's links are busy
        self._known: dict[tuple[Algorithm, int], tuple[int, Rounds]] = {}
        self._pending: list[tuple[Any, Array]] = []  # messages on their way, with their buffers

    def link_to(self, other: int) -> NetworkLink | None:
        """The emulated link to another rank; None where nothing is emulated."""
        return self.link if self.per_host and self.rank // self.per_host != other // self.per_host else None

    def send(self, values: Array, destination: int) -> None:
        """Send without waiting."""
        payload = np.ascontiguousarray(values, self.dtype)
        begin = max(time.monotonic(), self._sending)
        if link := self.link_to(destination):
            self._sending = begin + payload.nbytes / link.bandwidth
        buffer = np.empty(HEADER + payload.nbytes, np.uint8)
        buffer[:HEADER].view(np.float64)[0] = begin
        buffer[HEADER:] = payload.view(np.uint8)
        self._pending.append((self.comm.Isend(buffer, destination, TAG), buffer))
        self.messages, self.bytes = self.messages + 1, self.bytes + payload.nbytes

    def receive(self, count: int, source: int) -> Array:
        """Wait for an array of `count` numbers."""
        buffer = np.empty(HEADER + count * self.dtype.itemsize, np.uint8)
        request = self.comm.Irecv(buffer, source, TAG)
        while not request.Test():
            self._pause()
        if link := self.link_to(source):
            first_byte = float(buffer[:HEADER].view(np.float64)[0]) + link.latency
            busy = (len(buffer) - HEADER) / link.bandwidth
            self._receiving = max(first_byte, self._receiving) + busy
            while self._pending and time.monotonic() < self._receiving - LOOK:
                self._progress()  # large messages of this rank leave only while it calls MPI
            wait_until(self._receiving)
        return buffer[HEADER:].view(self.dtype)

    def finish(self) -> None:
        """Wait until all messages of this rank have left."""
        while self._pending:
            self._progress()

    def _progress(self) -> None:
        self._pending = [(request, buffer) for request, buffer in self._pending if not request.Test()]
        if self._pending:
            self._pause()

    def _pause(self) -> None:
        if self.stopped:
            raise InterruptedError("the run ends early")
        time.sleep(LOOK)

    def all_reduce(self, values: Array, algorithm: Algorithm, servers: int = 1) -> None:
        """Replace `values` (float32, one-dimensional) by the sum over all ranks. Collective."""
        if self.size == 1:
            return
        chunks, steps = self._rounds(algorithm, servers)
        edges = [len(values) * number // chunks for number in range(chunks + 1)]
        for step in steps:
            for message in step:
                if message.source == self.rank:
                    self.send(values[edges[message.begin] : edges[message.end]], message.destination)
            for message in step:
                if message.destination == self.rank:
                    place = values[edges[message.begin] : edges[message.end]]
                    arrived = self.receive(len(place), message.source)
                    if message.add:
                        place += arrived.astype(np.float32)  # adding float16 to float32 would be slow
                    else:
                        place[:] = arrived
        self.finish()

    def _rounds(self, algorithm: Algorithm, servers: int) -> tuple[int, Rounds]:
        """The messages of this rank alone."""
        key = algorithm, servers
        if key not in self._known:
            chunks, steps = rounds(algorithm, self.size, self.per_host, servers)
            of_rank = [
                [step for step in messages if self.rank in (step.source, step.destination)] for messages in steps
            ]
            self._known[key] = chunks, of_rank
        return self._known[key]
