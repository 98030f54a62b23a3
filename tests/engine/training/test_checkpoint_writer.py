"""Checkpoints written by a thread: copies, the place of one, the older ones, errors, the end."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
from mpi4py import MPI

from tests.support import limit
from workshop.core.errors import WorkshopError
from workshop.engine.context import LARGEST_ARTIFACT, Memory, RankContext
from workshop.engine.training.checkpoint import FORMER, NAME, Checkpoint, unpack
from workshop.engine.training.checkpoint_writer import CheckpointWriter, totals


def checkpoint(update: int, weights: np.ndarray | None = None) -> Checkpoint:
    values = np.full(3, update, np.float32) if weights is None else weights
    return Checkpoint([values], [], "SGD", {"epoch": 0, "update": update})


@dataclass(frozen=True)
class SlowCheckpoint(Checkpoint):
    """A checkpoint that is packed as soon as the test says so."""

    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def pack(self) -> bytes:
        self.begun.set()
        assert self.go.wait(limit(20))
        return super().pack()


def slow(update: int) -> SlowCheckpoint:
    return SlowCheckpoint([np.full(3, update, np.float32)], [], "SGD", {"epoch": 0, "update": update})


class Full(Memory):
    def artifact(self, name, data, media_type, former=()):
        raise OSError("No space left on device")


def context(sink: Memory) -> RankContext:
    return RankContext(MPI.COMM_SELF, sink)


def updates(sink: Memory) -> dict[str, int]:
    return {name: unpack(data).progress["update"] for name, (_, data) in sink.artifacts.items()}


def test_the_newest_and_two_older_ones_are_kept():
    sink = Memory()
    with CheckpointWriter(context(sink)) as writer:
        for update in (1, 2, 3, 4, 5):
            writer.save(lambda update=update: checkpoint(update))
            writer.flush()
    assert updates(sink) == {NAME: 5, FORMER[0]: 4, FORMER[1]: 3}
    figures = totals(writer, 1)
    assert (figures["written"], figures["kept"], figures["left_out"], figures["differ"]) == (5, 5, 0, False)
    assert figures["bytes"] == 5 * len(sink.artifacts[NAME][1])
    assert min(figures[f"seconds_{name}"] for name in ("blocked", "writing", "processor")) > 0
    assert [(name, step) for _, name, step, _ in sink.events] == [("time.checkpoint", step) for step in range(1, 6)]


def test_while_one_is_written_the_newest_waits_and_the_others_are_left_out():
    sink, first = Memory(), slow(1)
    with CheckpointWriter(context(sink)) as writer:
        writer.save(lambda: first)
        assert first.begun.wait(limit(20))
        for update in (2, 3, 4):
            writer.save(lambda update=update: checkpoint(update))
        assert sink.artifacts == {}, "training went on meanwhile"
        first.go.set()
    assert updates(sink) == {NAME: 4, FORMER[0]: 1}
    assert writer.left_out == 2 and list(writer.digests) == [1, 4]
    assert sum(value for _, _, _, value in sink.events) == pytest.approx(writer.blocked, rel=0.5), (
        "also for those that were left out"
    )


def test_a_rank_hears_of_what_could_not_be_written():
    words = r"Rank 0 could not write the checkpoint of update 7 \(No space left"
    with pytest.raises(WorkshopError, match=words) as heard, CheckpointWriter(context(Full())) as writer:
        writer.save(lambda: checkpoint(7))
        with pytest.raises(WorkshopError, match=words):
            writer.flush()
        with pytest.raises(WorkshopError, match=words):
            writer.save(lambda: checkpoint(8))
    assert "\n" not in str(heard.value)
    assert totals(writer, 1) is None


def test_a_thread_that_is_late_keeps_nothing():
    sink, late = Memory(), slow(1)
    writer = CheckpointWriter(context(sink), limit=0.01)
    writer.save(lambda: late)
    assert late.begun.wait(limit(20))
    thread = next(thread for thread in reversed(threading.enumerate()) if thread.name == "checkpoint")
    with pytest.raises(WorkshopError, match=r"Rank 0 has not written its last checkpoint within 0 s"):
        writer.flush()
    with pytest.raises(WorkshopError, match="has not written"), writer:
        pass
    late.go.set()
    thread.join(limit(20))
    assert not thread.is_alive() and sink.artifacts == {}


def test_one_that_is_too_large_is_refused_in_a_sentence():
    sink = Memory()
    with CheckpointWriter(context(sink)) as writer:
        writer.save(lambda: checkpoint(1, np.zeros(LARGEST_ARTIFACT // 4, np.float32)))
        writer.save(lambda: pytest.fail("nothing is copied any more"))
    assert sink.artifacts == {} and totals(writer, 1) is None
    assert "has 67 MB, over the 64 MB that can be kept" in writer.notice
