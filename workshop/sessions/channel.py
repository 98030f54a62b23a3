"""The conductor's end of the channel to its ranks: stores their messages, acknowledges them, and keeps the ranks alive.

See `workshop.engine.reporter` for the other end. One thread owns the socket and another one writes the store, so that a
store that is slow for a while doesn't silence the ranks' lifeline. Messages that need a decision (a rank finished, a
rank failed, ranks go on without another one) arrive in `words`.
"""

from __future__ import annotations

import hmac
import json
import math
import os
import queue
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq

from workshop.core.disk import NoRoom
from workshop.core.errors import BadInput

if TYPE_CHECKING:
    from workshop.store.store import Store

ALIVE_EVERY = 1.0  # seconds
GATHER = 0.05  # seconds for which a batch waits for others: a transaction costs as much as thirty events
CLOSED = None  # in the inbox: the thread that writes the store ends


_Message = tuple[bytes, dict[str, Any], tuple[bytes, ...]]  # who, what, and frames of bytes


@dataclass(frozen=True)
class Word:
    """A rank's last word on a run."""

    kind: str  # finished, failed, or members, the ranks that go on
    run: int
    rank: int
    body: dict[str, Any]


@dataclass(frozen=True)
class HostMemory:
    """The memory of a host, as its ranks told it last, in bytes."""

    available: int
    total: int
    private_bytes: Mapping[int, int] = field(default_factory=dict)  # by each of its ranks


@dataclass
class Channel:
    """Binds to a free port of `host` (loopback by default) and writes the file by which engines find it."""

    store: Store
    file: Path
    host: str = "127.0.0.1"
    words: queue.Queue[Word] = field(default_factory=queue.Queue)
    hosts: dict[str, HostMemory] = field(default_factory=dict)  # those that have ranks
    last_heard: dict[int, float] = field(
        default_factory=dict
    )  # rank -> time of its last message, on the monotonic clock
    address: str | None = None  # at which ranks find `host`, where that is another
    log: Callable[[str], None] = print
    full: str = ""  # why what ranks tell can't be stored, while the store's disk is full

    def __post_init__(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._measured = 0  # the run whose progress has begun
        self._inbox: queue.Queue[_Message | None] = queue.Queue()  # from the socket to the store
        self._outbox: queue.Queue[tuple[bytes | None, dict[str, Any]]] = queue.Queue()  # to one rank, or to all
        self._ending = threading.Event()
        # Wakes the socket's thread. A socket that is polled again and again takes processor time from the ranks.
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._context = zmq.Context()
        self._line = self._context.socket(zmq.ROUTER)
        self._line.linger = 0
        public, secret = zmq.curve_keypair()
        self._line.curve_server = True
        self._line.curve_secretkey = secret
        port = self._line.bind_to_random_port(f"tcp://{self.host}")
        described = {
            "address": f"tcp://{self.address or self.host}:{port}",
            "server_key": public.decode(),
            "token": self._token,
        }
        self.file.unlink(missing_ok=True)
        with open(os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(described, file)
        self._ranks: dict[int, bytes] = {}  # rank -> ZeroMQ identity
        self._threads = [
            threading.Thread(target=self._serve, name="channel", daemon=True),
            threading.Thread(target=self._keep_storing, name="channel-store", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def private_bytes(self) -> dict[int, int]:
        """The bytes that each rank has for itself, from its last message."""
        return {rank: count for host in list(self.hosts.values()) for rank, count in host.private_bytes.items()}

    def stop(self, run: int) -> None:
        """Ask every rank to end the run at its next opportunity."""
        self._send(None, {"kind": "stop", "run": run})

    def kill(self, run: int, rank: int) -> None:
        """Have a rank end itself by SIGKILL."""
        if rank in self._ranks:
            self._send(self._ranks[rank], {"kind": "kill", "run": run})

    def _send(self, identity: bytes | None, message: dict[str, Any]) -> None:
        self._outbox.put((identity, message))
        os.eventfd_write(self._wake, 1)

    def forget_ranks(self) -> None:
        """Forget all ranks, because the engines are gone; new engines will introduce themselves."""
        self._ranks = {}
        self.full = ""
        self.hosts.clear()
        self.last_heard.clear()

    def close(self) -> None:
        self._ending.set()
        self._inbox.put(CLOSED)
        os.eventfd_write(self._wake, 1)
        for thread in self._threads:
            thread.join(5)
        if not any(thread.is_alive() for thread in self._threads):
            os.close(self._wake)
        self.file.unlink(missing_ok=True)

    def _serve(self) -> None:
        alive = 0.0
        poller = zmq.Poller()
        poller.register(self._line, zmq.POLLIN)
        poller.register(self._wake, zmq.POLLIN)
        while not self._ending.is_set():
            if time.monotonic() - alive >= ALIVE_EVERY:
                alive = time.monotonic()
                self._outbox.put((None, {"kind": "alive"}))
            while not self._outbox.empty():
                identity, message = self._outbox.get()
                for to in list(self._ranks.values()) if identity is None else [identity]:
                    self._line.send_multipart([to, json.dumps(message).encode()])
            rest = max(alive + ALIVE_EVERY - time.monotonic(), 0.0)
            ready = dict(poller.poll(math.ceil(rest * 1000)))
            if self._wake in ready:
                os.eventfd_read(self._wake)
            if self._line in ready:
                self._receive(*self._line.recv_multipart())
        self._line.close()
        self._context.term()

    def _receive(self, identity: bytes, head: bytes, *frames: bytes) -> None:
        message = self._read(head)
        if message is None:
            return
        self._ranks[message["rank"]] = identity
        self.last_heard[message["rank"]] = time.monotonic()
        if message["kind"] == "alive":
            usage = {int(rank): count for rank, count in message["held"].items()}
            self.hosts[message["host"]] = HostMemory(message["available"], message["total"], usage)
        else:
            self._inbox.put((identity, message, frames))

    def _keep_storing(self) -> None:
        while not self._ending.is_set():
            messages: list[_Message | None] = [self._inbox.get()]
            deadline = time.monotonic() + GATHER
            # A rank's last word waits for nobody: the run's end waits for it.
            while len(messages) < 64 and (last := messages[-1]) is not CLOSED and last[1]["kind"] == "batch":
                try:
                    messages.append(self._inbox.get(timeout=max(deadline - time.monotonic(), 0.0)))
                except queue.Empty:
                    break
            received = [message for message in messages if message is not CLOSED]
            if not received:
                return
            try:
                self._handle(received)
                self.full = ""
            except Exception as error:
                # A full disk or a busy database: nothing was acknowledged, so the ranks send it again.
                self.full = str(error) if isinstance(error, NoRoom) else ""
                self.log(traceback.format_exc())

    def _handle(self, messages: list[_Message]) -> None:
        """Store a message first and acknowledge it then. So no acknowledged message is lost, and all others are sent
        again."""
        batches, words = [], []
        progress: dict[int, tuple[float, float]] = {}
        phases: dict[int, dict[str, Any]] = {}
        for _, message, frames in messages:
            run, rank, kind = message["run"], message["rank"], message["kind"]
            if "phase" in message:
                phases.setdefault(run, {})[str(rank)] = message["phase"]
            batches.append((run, rank, message["number"], message.get("events", [])))
            if kind == "batch":
                if message["progress"]:
                    progress[run] = tuple(message["progress"])
                    if run != self._measured:
                        self._measured = run
                        self._tell_activity(run, done=progress[run][0], at=time.time())
            elif kind == "artifact":
                self._keep(run, message, frames[0])
            elif kind == "activity":
                self._tell_activity(run, words=message["words"])
            elif kind == "known":
                self.store.set_run(run, metrics={**self.store.run(run).metrics, **message["metrics"]})
            else:
                words.append(Word(kind, run, rank, message))
        for run, changes in phases.items():
            self._tell_activity(run, phases={**(self.store.run(run).activity or {}).get("phases", {}), **changes})
        self.store.add_batches(batches, progress)
        for identity, message, _ in messages:
            self._send(identity, {"kind": "ack", "run": message["run"], "number": message["number"]})
        for word in words:
            self.words.put(word)

    def _tell_activity(self, run: int, **changes: Any) -> None:
        self.store.set_run(run, activity={**(self.store.run(run).activity or {}), **changes})

    def _keep(self, run: int, message: dict[str, Any], data: bytes) -> None:
        try:
            former = message.get("former", ())
            self.store.put_artifact(run, message["name"], message["media_type"], data, former)
        except BadInput as refused:
            self.store.set_run(run, notices=[*self.store.run(run).notices, str(refused)])

    def _read(self, head: bytes) -> dict[str, Any] | None:
        """A message that carries the session's token. Messages without it are ignored, because other users of this
        machine can reach the port, too."""
        try:
            message = json.loads(head)
            token = message.pop("token")
            return message if hmac.compare_digest(token.encode(), self._token.encode()) else None
        except (ValueError, KeyError, AttributeError, TypeError):
            return None
