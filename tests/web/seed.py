"""A store as a class leaves it: a session that is up, a run that is over, one that goes on, one that waits."""

from __future__ import annotations

import io
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

from tests.report.analysis import cases
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

PARAMS = {"data": "photo", "image": "china", "clusters": 4, "iterations": 20}
PLACEMENT = {"mpi": "openmpi", "ranks": 2, "cores_per_rank": 1}
PALETTE = ["#112233", "#445566", "#778899", "#aabbcc"]


def png(colour: str = "#445566", size: int = 8) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(buffer, "PNG")
    return buffer.getvalue()


def session(store: Store, name: str = "class") -> SessionRecord:
    """A session that is ready, with two ranks on two cores."""
    made = store.create_session(name, PLACEMENT, machine=cases.machine(2))
    up = cases.rank_map([0], [1], seen=[[0], [1]])
    store.update_session(made.id, state="ready", message="", rank_map=up, machine=cases.machine(2))
    return store.session(made.id)


@contextmanager
def alive(store: Store, name: str) -> Iterator[SessionRecord]:
    """A session whose heart beats as long as the block lasts."""
    made = session(store, name)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(1):
            store.heartbeat(made.id)

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield made
    finally:
        ended.set()
        heart.join()
        store.update_session(made.id, state="stopped")


def running(store: Store, of: SessionRecord, identity: Identity | None = None, steps: int = 10) -> RunRecord:
    """A run that has told some steps."""
    nickname, number = (identity.nickname, identity.id) if identity else ("", None)
    run = store.submit(of.id, "kmeans", PARAMS, PLACEMENT, submitted_by=nickname, identity_id=number)
    taken = store.take_next(of.id)
    assert taken is not None
    assert taken.id == run.id, "the queue was empty"
    store.update_session(of.id, state="running", message=f"run {run.id}: k-means on 2 ranks × 1 thread")
    store.set_run(run.id, rank_map=of.rank_map, machine=of.machine)
    tell(store, run.id, 1, steps)
    return store.run(run.id)


def tell(store: Store, run_id: int, first: int, last: int) -> None:
    """What two ranks tell in some steps; the batch has the number of the first step."""
    for rank in (0, 1):
        events: list[tuple[float, str, int | None, float]] = []
        for step in range(first, last + 1):
            now = time.time()
            events += [(now, "time.compute", step, 0.02 + 0.001 * rank), (now, "time.communicate", step, 0.004)]
            if rank == 0:
                events.append((now, "inertia", step, 100 * math.exp(-step / 5) + 50))
        store.add_events(run_id, rank, first, events)
    store.set_run(run_id, progress=(float(last), 20.0))


def completed(store: Store, of: SessionRecord, identity: Identity | None = None) -> RunRecord:
    """A run that is over, with its photos."""
    return complete(store, of, running(store, of, identity, steps=20))


def complete(store: Store, of: SessionRecord, run: RunRecord) -> RunRecord:
    """End a run that goes on; it leaves its photos."""
    store.put_artifact(run.id, "original.png", "image/png", png("#102030"))
    store.put_artifact(run.id, "quantised.png", "image/png", png("#405060"))
    metrics = {
        "inertia": 51.8,
        "iterations": 20,
        "converged": True,
        "sizes": [10, 20, 30, 4],
        "palette": PALETTE,
        "seconds": {"fit": 0.48},
        "bytes_before": 491_000,
        "bytes_after": 66_600,
    }
    said = {"verdict": "Well balanced.", "why": "The ranks computed the same.", "next": "Try one rank."}
    store.finish(run.id, "completed", metrics=metrics, verdict=said)
    store.update_session(of.id, state="ready", message="")
    return store.run(run.id)


def failed(store: Store, of: SessionRecord, message: str) -> RunRecord:
    """A run in which rank 1 raised an error."""
    run = running(store, of, steps=3)
    error = {"rank": 1, "host": "laptop", "type": "ValueError", "message": message, "traceback": "Traceback:\n  here"}
    store.finish(
        run.id, "failed", error=error, verdict={"verdict": "Rank 1 failed.", "why": "It did.", "next": "Mend."}
    )
    store.update_session(of.id, state="ready", message="")
    return store.run(run.id)
