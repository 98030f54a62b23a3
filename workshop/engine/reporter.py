"""A rank's line to its conductor: events go up in numbered batches, acknowledgements and stop requests come down.

One thread owns the socket. It is also the rank's lifeline: a rank that hears nothing of its conductor for
`SILENCE` seconds ends itself, so that no engine outlives a conductor that was killed, on whatever host.

Messages are JSON (artifacts: a second frame of bytes) over ZeroMQ with CURVE: nothing is unpickled here.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import threading
import time
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq

from workshop.core.memory import Gauge, private_bytes
from workshop.core.rank_map import ThreadUnits

EVERY = 0.5  # seconds between batches
IDLE = 1.0  # seconds between looks around when no run goes on
SAME_FILE = 1.0  # seconds between two files of one name: a checkpoint after each short epoch would keep the store busy
SILENCE = 7.0  # seconds without a word from the conductor after which a rank ends itself
RESEND = 2.0  # seconds after which an unacknowledged message is sent again
BATCH = 20_000  # events in one message, at most
LASTING = 0.5  # seconds after which the conductor hears of a phase that goes on; events tell of shorter ones
EXIT_ORPHANED = 86
LIFE = 1_000_000  # messages of a run for which a process has numbers


@dataclass
class _Outbox:
    """The messages of one run, guarded by the reporter's lock."""

    run: int
    # Appended to without the lock, which would cost the workload more than the event itself.
    events: deque[tuple[float, str, int | None, float]] = field(default_factory=deque)
    progress: tuple[float, float] | None = None
    phase: tuple[str, float] | None = None  # the lasting one that the conductor knows
    files: deque[tuple[dict[str, Any], bytes]] = field(default_factory=deque)
    newest: dict[str, tuple[dict[str, Any], bytes]] = field(default_factory=dict)  # files that wait for their time
    file_sent: dict[str, float] = field(default_factory=dict)  # by name, on the monotonic clock
    unacknowledged: dict[int, tuple[float, list[bytes]]] = field(default_factory=dict)  # number -> sent at, frames
    sent: int = 0
    stop: bool = False


class Reporter:
    """The sink of a rank that belongs to a session. `channel` is what the conductor wrote for its engines."""

    def __init__(self, channel: dict[str, str], rank: int) -> None:
        self.rank = rank
        self.neighbours: Mapping[int, int] = {rank: os.getpid()}  # the processes of this host's ranks, by rank
        self.threads = ThreadUnits()
        self.phase: tuple[str, float] | None = None  # set by the workload's thread, without a lock
        self._channel = channel
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._outbox: _Outbox | None = None
        self._closing = threading.Event()
        self._wake_thread = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)  # a batch now, instead of at the next tick
        self._thread = threading.Thread(target=self._live, name="reporter", daemon=True)
        self._thread.start()

    # What workloads call, by way of RankContext.

    def emit(self, name: str, value: float, step: int | None, time: float) -> None:
        outbox = self._outbox
        if outbox is not None:
            outbox.events.append((time, name, step, value))

    def progress(self, done: float, total: float) -> None:
        if self._outbox is not None:
            self._outbox.progress = (done, total)

    def activity(self, words: str) -> None:
        if self._outbox is not None:
            self._outbox.files.append(({"kind": "activity", "words": words}, b""))

    def publish(self, metrics: Mapping[str, Any]) -> None:
        if self._outbox is not None:
            self._outbox.files.append(({"kind": "known", "metrics": dict(metrics)}, b""))

    def members(self, ranks: Sequence[int]) -> None:
        if self._outbox is not None:
            self._outbox.files.append(({"kind": "members", "ranks": list(ranks)}, b""))

    def artifact(self, name: str, data: bytes, media_type: str, former: Sequence[str] = ()) -> None:
        if self._outbox is not None:
            message = {"kind": "artifact", "name": name, "media_type": media_type, "former": list(former)}
            self._outbox.files.append((message, data))

    def stop_requested(self) -> bool:
        return self._outbox is not None and self._outbox.stop

    @property
    def run(self) -> int | None:
        """The run's number; None between runs."""
        outbox = self._outbox
        return outbox.run if outbox is not None else None

    # What the host of the run calls.

    def begin(self, run: int, life: int = 0) -> None:
        """Begin with the messages of a run; `life` is how many processes had this rank's number in it before."""
        self.threads.forget()
        self.phase = None
        with self._lock:
            self._outbox = _Outbox(run, sent=life * LIFE)
        os.eventfd_write(self._wake_thread, 1)

    def end(self, message: dict[str, Any], seconds: float = 20.0) -> None:
        """Send the last word of a run behind all its events, and wait until the conductor has stored everything.

        Raises TimeoutError when it hasn't within `seconds`; the conductor then misses the rank's last word and
        treats the run as failed."""
        with self._wake:
            outbox = self._outbox
            if outbox is None:
                raise RuntimeError("end without begin")
            outbox.files.append((message, b""))
            os.eventfd_write(self._wake_thread, 1)
            deadline = time.monotonic() + seconds
            while outbox.files or outbox.events or outbox.unacknowledged:
                if not self._wake.wait(max(deadline - time.monotonic(), 0)):
                    raise TimeoutError(f"the conductor has not acknowledged rank {self.rank}'s events in {seconds} s")
            self._outbox = None

    def close(self) -> None:
        """Hang up. From now on this process doesn't end when its conductor falls silent."""
        self._closing.set()
        os.eventfd_write(self._wake_thread, 1)
        self._thread.join()
        os.close(self._wake_thread)

    # The thread.

    def _live(self) -> None:
        # Python 3.11 doesn't tell the kernel a thread's name; with it, rank maps and benches know this one.
        with contextlib.suppress(OSError):
            Path("/proc/thread-self/comm").write_text("reporter")
        try:
            self._serve()
        except BaseException:
            # A rank without its lifeline must not go on: nobody would hear of it, nothing would end it.
            traceback.print_exc()
            os._exit(EXIT_ORPHANED)

    def _serve(self) -> None:
        context = zmq.Context()
        line = context.socket(zmq.DEALER)
        line.curve_publickey, line.curve_secretkey = zmq.curve_keypair()
        line.curve_serverkey = self._channel["server_key"].encode()
        line.linger = 0
        line.connect(self._channel["address"])
        poller = zmq.Poller()
        poller.register(line, zmq.POLLIN)
        poller.register(self._wake_thread, zmq.POLLIN)
        greeting = 0.0
        gauge = Gauge()
        silent = 0.0
        while not self._closing.is_set():
            now = time.monotonic()
            if now - greeting > 1.0:
                greeting = now
                self._send(line, {"kind": "alive", **_memory(gauge, self.neighbours)})
                self.threads.look()
            # All ranks send at the same moments by the clock: they are held up together instead of one after the other,
            # and the conductor stores their batches in one transaction.
            every = EVERY if self._outbox is not None else IDLE
            pause = every - time.time() % every
            ready = dict(poller.poll(math.ceil(pause * 1000)))
            if self._wake_thread in ready:
                os.eventfd_read(self._wake_thread)
            if line in ready:
                silent = 0.0
                while line.poll(0):
                    self._receive(json.loads(line.recv()))
            else:
                # It may take long to come back from the poll: a library that is being imported holds the interpreter,
                # a machine is crowded, a laptop was closed. Only what was spent listening counts.
                silent += min(time.monotonic() - now, 2 * every)
            if silent > SILENCE:
                os._exit(EXIT_ORPHANED)
            # A message that came before the tick is no reason to send a batch.
            if line not in ready or self._wake_thread in ready or time.monotonic() - now >= pause:
                self._flush(line)
        line.close()
        context.term()

    def _send(self, line: zmq.Socket[bytes], message: dict[str, Any], *frames: bytes) -> None:
        signed = {**message, "rank": self.rank, "token": self._channel["token"]}
        line.send_multipart([json.dumps(signed).encode(), *frames])

    def _receive(self, message: dict[str, Any]) -> None:
        with self._wake:
            outbox = self._outbox
            if outbox is None or message.get("run") != outbox.run:
                return
            if message["kind"] == "ack":
                outbox.unacknowledged.pop(message["number"], None)
                self._wake.notify_all()
            elif message["kind"] == "stop":
                outbox.stop = True
            elif message["kind"] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)  # without any last word, as a host that fails

    def _flush(self, line: zmq.Socket[bytes]) -> None:
        with self._wake:
            outbox = self._outbox
            if outbox is None:
                return
            now = time.monotonic()
            for number, (sent, frames) in outbox.unacknowledged.items():
                if now - sent > RESEND:
                    outbox.unacknowledged[number] = (now, frames)
                    line.send_multipart(frames)
            events = [outbox.events.popleft() for _ in range(len(outbox.events))]
            progress, outbox.progress = outbox.progress, None
            news = self._phase_news(outbox)
            for start in range(0, max(len(events), 1 if progress or news else 0), BATCH):
                batch = {"kind": "batch", "events": events[start : start + BATCH], "progress": progress}
                self._send_signed(line, outbox, batch | news)
            # Files and last words go behind the events that were told before them.
            self._flush_files(line, outbox, now)

    def _flush_files(self, line: zmq.Socket[bytes], outbox: _Outbox, now: float) -> None:
        """Send files. The newest one of a name replaces those that wait; a last word waits for all files."""
        last_words = []
        while outbox.files:
            message, data = outbox.files.popleft()
            if message["kind"] == "artifact":
                outbox.newest[message["name"]] = message, data
            elif message["kind"] in ("known", "activity", "members"):
                self._send_signed(line, outbox, message, data)
            else:
                last_words.append(message)
        for name in [*outbox.newest]:
            if last_words or now - outbox.file_sent.get(name, -math.inf) >= SAME_FILE:
                outbox.file_sent[name] = now
                self._send_signed(line, outbox, *outbox.newest.pop(name))
        for message in last_words:
            self._send_signed(line, outbox, message, b"")

    def _phase_news(self, outbox: _Outbox) -> dict[str, Any]:
        """The phase that lasts with the time of its begin, None for the end of such a phase; {} without a change."""
        phase, age = self.phase, 0.0
        if phase is not None and (age := time.perf_counter() - phase[1]) < LASTING:
            phase = None
        if phase == outbox.phase:
            return {}
        outbox.phase = phase
        return {"phase": phase and (phase[0], time.time() - age)}

    def _send_signed(self, line: zmq.Socket[bytes], outbox: _Outbox, message: dict[str, Any], *frames: bytes) -> None:
        outbox.sent += 1
        signed = {
            **message,
            "run": outbox.run,
            "number": outbox.sent,
            "rank": self.rank,
            "host": socket.gethostname(),
            "token": self._channel["token"],
        }
        sealed = [json.dumps(signed).encode(), *frames]
        outbox.unacknowledged[outbox.sent] = (time.monotonic(), sealed)
        line.send_multipart(sealed)


def _memory(gauge: Gauge, neighbours: Mapping[int, int]) -> dict[str, Any]:
    """The memory of each rank of this host, and the free memory of the host or its limit, in bytes. One look covers all
    ranks: a rank that fills the memory within a second may not have reported its own part yet when another rank reports
    that nothing is left, and then the other rank would be blamed."""
    host = gauge.tightest()
    return {
        "held": {rank: count for rank, pid in neighbours.items() if (count := private_bytes(pid)) is not None},
        "host": socket.gethostname(),
        "available": host.available,
        "total": host.total,
    }
