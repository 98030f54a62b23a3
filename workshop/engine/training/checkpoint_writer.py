"""Writes checkpoints beside the training: copying the arrays is all that the training waits for.

A thread packs each copy, hashes it and keeps it as the run's artifact, as a whole or not at all. A rank that is killed
loses the copy that is on its way; the checkpoints before it stay. Where checkpoints come more often, a session stores
one a second, the newest (`workshop.engine.reporter.SAME_FILE`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from workshop.core.errors import WorkshopError
from workshop.engine.context import LARGEST_ARTIFACT, RankContext
from workshop.engine.training.checkpoint import FORMER, NAME, Checkpoint

WRITE_SECONDS = 60.0  # seconds in which the last checkpoint has to be written
IDLE = 1.0  # seconds between two looks of a thread that has nothing to write


class Pending(NamedTuple):
    """A checkpoint that is to be written, and the seconds that training has stopped for it and for those that were left
    out since the last one."""

    checkpoint: Checkpoint
    blocked: float


class CheckpointWriter:
    """The checkpoints of one rank, a context manager: at its end, everything has been written. While one is written,
    the next one waits; a third one takes its place. `former` names the older checkpoints that are kept."""

    def __init__(self, ctx: RankContext, former: Sequence[str] = FORMER, limit: float = WRITE_SECONDS) -> None:
        self.ctx = ctx
        self.limit = limit
        self.former = former
        self.notice = ""  # why there are no checkpoints
        self.digests: dict[int, str] = {}  # of the written checkpoints, by update
        self.bytes = self.left_out = 0
        self.blocked = 0.0  # seconds in which training waited for copies
        self.writing = 0.0  # seconds in which the thread wrote
        self.processor = 0.0  # seconds of the processor that the thread used: at most what training lost by it
        self.flushing = 0.0  # seconds of waiting for the thread at the end
        self._changed = threading.Condition()  # guards what follows
        self._pending: Pending | None = None
        self._busy = False  # with the one before
        self._closed = False
        self._error: WorkshopError | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> CheckpointWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.flush()
        except WorkshopError:
            if error is None:
                raise
        finally:
            with self._changed:
                self._closed = True  # a thread that is late must not keep its checkpoint with the next run
                self._changed.notify_all()

    def save(self, capture: Callable[[], Checkpoint]) -> None:
        """Capture a checkpoint and have it written. One over 64 MB is refused by `notice`. Raises WorkshopError where
        an earlier one could not be written."""
        if self.notice:
            return
        self._raise_error()
        began = time.perf_counter()
        checkpoint = capture()
        if checkpoint.size > LARGEST_ARTIFACT:
            self.notice = (
                f"A checkpoint of this model has {checkpoint.size / 1e6:.0f} MB, over the {LARGEST_ARTIFACT >> 20} MB "
                "that can be kept; the run has none."
            )
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="checkpoint", daemon=True)
            self._thread.start()
        with self._changed:
            former = self._pending
            self.left_out += former is not None
            seconds = time.perf_counter() - began
            self._pending = Pending(checkpoint, seconds + (former.blocked if former else 0.0))
            self._changed.notify_all()
        self.blocked += seconds

    def flush(self) -> None:
        """Wait until everything has been written. Raises WorkshopError where something could not be written, or not
        within `limit` seconds."""
        began = time.perf_counter()
        with self._changed:
            written = self._changed.wait_for(lambda: self._pending is None and not self._busy, self.limit)
        self.flushing += time.perf_counter() - began
        if not written:
            raise WorkshopError(
                f"Rank {self.ctx.rank} has not written its last checkpoint within {self.limit:.0f} s; train a smaller "
                "model, or write to a faster disk."
            )
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _write_all(self) -> None:
        """Write each checkpoint that comes, until the writer is closed; the thread's program."""
        while True:
            with self._changed:
                while self._pending is None:
                    if self._closed:
                        return
                    self._changed.wait(IDLE)
                pending, self._pending, self._busy = self._pending, None, True
            try:
                self._write(pending)
            except Exception as error:
                update = pending.checkpoint.progress["update"]
                self._error = WorkshopError(
                    f"Rank {self.ctx.rank} could not write the checkpoint of update {update} "
                    f"({error or type(error).__name__}); the run keeps older ones, if it has any."
                )
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _write(self, pending: Pending) -> None:
        began, used = time.perf_counter(), time.thread_time()
        checkpoint, update = pending.checkpoint, int(pending.checkpoint.progress["update"])
        data = checkpoint.pack()
        with self._changed:
            if self._closed:
                return
            self.ctx.artifact(NAME, data, former=self.former)
        # Told behind the artifact: a reader of the event has a checkpoint to go on from.
        self.ctx.account("checkpoint", pending.blocked, update, time.time())
        self.digests[update] = checkpoint.digest
        self.bytes += len(data)
        self.writing += time.perf_counter() - began
        self.processor += time.thread_time() - used


def totals(writer: CheckpointWriter, interval: int) -> dict[str, Any] | None:
    """The metrics `checkpoints` of all ranks' flushed writers, for checkpoints every `interval` steps; None where none
    was written. `kept` counts those that no other rank has overwritten. Collective, the same on all ranks."""
    summary = {
        "written": len(writer.digests),
        "bytes": writer.bytes,
        "left_out": writer.left_out,
        "seconds_blocked": writer.blocked,
        "seconds_writing": writer.writing,
        "seconds_processor": writer.processor,
    }
    every = writer.ctx.comm.allgather((summary, writer.digests))
    digests: dict[int, set[str]] = {}
    for _, of_rank in every:
        for update, digest in of_rank.items():
            digests.setdefault(update, set()).add(digest)
    if not digests:
        return None
    return {
        **{name: sum(figures[name] for figures, _ in every) for name in summary},
        "kept": len(digests),
        "differ": any(len(different) > 1 for different in digests.values()),
        "interval_steps": interval,
    }
