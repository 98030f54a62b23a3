"""A training run as ranks leave it: its events, its metrics, its files."""

from __future__ import annotations

import base64
import io
import json
import math
import time
from typing import Any

import numpy as np
from PIL import Image

from tests.web.seed import PLACEMENT
from workshop.engine.training.trace import trace
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store

STEPS, EPOCHS = 11, 8  # steps of an epoch
PARAMS = {"data": "digits", "exchange": "auto", "epochs": EPOCHS, "batch": 64, "seed": 3}

# Of 450 held-out digits 13 are misread: seven 4s as 9, and six 7s as 1.
CONFUSION = [[45 * (digit == read) for read in range(10)] for digit in range(10)]
CONFUSION[4][4], CONFUSION[4][9], CONFUSION[7][7], CONFUSION[7][1] = 38, 7, 39, 6


def running(
    store: Store,
    of: SessionRecord,
    identity: Identity | None = None,
    epochs: int = 3,
    workload: str = "mnist",
    **params: Any,
) -> RunRecord:
    """A run that has trained for some epochs."""
    nickname, number = (identity.nickname, identity.id) if identity else ("", None)
    given = PARAMS | params
    run = store.submit(of.id, workload, given, PLACEMENT, submitted_by=nickname, identity_id=number)
    taken = store.take_next(of.id)
    assert taken is not None
    assert taken.id == run.id, "the queue was empty"
    store.update_session(of.id, state="running", message=f"run {run.id}: Handwritten digits on 2 ranks × 1 thread")
    store.set_run(run.id, rank_map=of.rank_map, machine=of.machine)
    for epoch in range(1, epochs + 1):
        tell(store, run.id, epoch)
    return store.run(run.id)


def tell(store: Store, run_id: int, epoch: int) -> None:
    """What two ranks tell in an epoch, counted from 1, as if a step took a tenth of a second."""
    for rank in (0, 1):
        events: list[tuple[float, str, int | None, float]] = []
        began = time.time() - (EPOCHS - epoch + 1) * STEPS * 0.1
        if rank == 0 and epoch == 1:
            events.append((began, "spread", 0, 0.0))
        for step in range((epoch - 1) * STEPS + 1, epoch * STEPS + 1):
            now = began + 0.1 * ((step - 1) % STEPS + 1)
            wobble = 0.05 * math.sin(3 * step)
            for phase, spent in (("input", 0.002), ("compute", 0.06 + 0.01 * rank), ("communicate", 0.015)):
                events.append((now, f"time.{phase}", step, spent))
            events.append((now, "time.wait", step, 0.01 - 0.01 * rank))
            events.append((now, "images/s", step, 900 + 100 * wobble))
            if rank == 0:
                events.append((now, "loss", step, 2.3 * math.exp(-step / 18) + 0.06 + wobble))
                events.append((now, "accuracy", step, min(1 - 0.9 * math.exp(-step / 14) + 0.3 * wobble, 1.0)))
                events.append((now, "total images/s", step, 1800 + 400 * wobble))
        last = epoch * STEPS
        if rank == 0:
            events.append((now, "spread", last, 0.0))
            events.append((now, "learning rate", last, 0.04))
            events.append((now, "held-out loss", last, 2.3 * math.exp(-last / 18) + 0.11))
            events.append((now, "held-out accuracy", last, min(1 - 0.9 * math.exp(-last / 14) - 0.02, 0.972)))
        events.append((now, "memory", last, 612e6 + 3e6 * rank))
        store.add_events(run_id, rank, epoch, events)
    store.set_run(run_id, progress=(float(epoch * STEPS), float(EPOCHS * STEPS)))


def metrics(**changes: Any) -> dict[str, Any]:
    """What rank 0 returns in the end."""
    told = {
        "data": "scikit-learn's digits, scaled to 28x28",
        "train_images": 1347,
        "held_out_images": 450,
        "exchange": "mpi",
        "exchange_why": "the usual one",
        "model": "cnn",
        "parameters": 34_826,
        "shards": [674, 673],
        "epochs": EPOCHS,
        "updates": EPOCHS * STEPS,
        "stopped": False,
        "loss": 0.0713,
        "held_out_loss": 0.1234,
        "held_out_accuracy": 0.9711,
        "held_out_accuracy_ranks": [0.9711, 0.9711],
        "target": 0.95,
        "time_to_target": 4.31,
        "epochs_to_target": 5,
        "images_per_second": 1812.4,
        "images_per_second_deviation": 12.9,
        "images_per_second_jitter": 41.0,
        "images_per_second_ranks": [905.1, 907.3],
        "phases": {"input": [0.17, 0.17], "compute": [5.2, 6.0], "communicate": [1.3, 1.3], "wait": [0.9, 0.1]},
        "measured_steps": 86,
        "bytes_per_step": 139_304,
        "messages_per_step": 1,
        "bytes_exchanged": 12_258_752,
        "last": [10, 76],
        "late_by": [0.0012, 0.0107],
        "memory": [612_000_000, 615_000_000],
        "threads": [census(), census()],
        "threads_seconds": 8.5,
        "spread_before": 1.31,
        "spread": 0.0,
        "weights": ["0123456789abcdef" * 4] * 2,
        "images_read": 1347,
        "distinct_images": 1347,
        "checkpoints": {"written": 8, "kept": 8, "bytes": 418_322, "differ": False},
        "resumed": None,
        "learning_rate": 0.04,
        "telling_share": 0.0021,
        "misclassified": 13,
        "confusion": CONFUSION,
        "seconds": {"prepare": 1.91, "train": 8.8, "evaluate": 0.51, "checkpoint": 0.12},
    }
    return told | changes


def census() -> dict[str, Any]:
    """The threads of a rank with one thread to compute with."""

    def kind(count: int, busy: int = 0, seconds: float = 0.0) -> dict[str, Any]:
        return {"count": count, "busy": busy, "seconds": seconds, "waited": 0.02 * seconds}

    return {"main": kind(1, 0, 0.3), "inter-op": kind(1, 1, 7.1), "intra-op": kind(1), "zeromq": kind(6, 0, 0.02)}


def completed(store: Store, of: SessionRecord, identity: Identity | None = None, **params: Any) -> RunRecord:
    """A run that is over, with all its files."""
    run = running(store, of, identity, EPOCHS, **params)
    keep(store, run.id)
    said = {
        "verdict": "Rank 1 holds up the others.",
        "why": "Rank 1 (hardware thread 1 of laptop) computed for 6.0 s, the other for 5.2 s: 15 % more.",
        "next": "Run it again: if rank 1 is slow again, it has a slower place than the others.",
    }
    store.finish(run.id, "completed", metrics=metrics(), verdict=said)
    store.update_session(of.id, state="ready", message="")
    return store.run(run.id)


def killed(store: Store, of: SessionRecord) -> RunRecord:
    """A run that lost a rank after its third epoch, with the checkpoint of that epoch."""
    run = running(store, of)
    store.put_artifact(run.id, "checkpoint.npz", "application/octet-stream", b"weights")
    error = {"rank": 1, "host": "laptop", "type": "RankDied", "message": "rank 1 was killed", "traceback": ""}
    said = {"verdict": "Rank 1 died.", "why": "It was killed.", "next": "Go on from its checkpoint."}
    store.finish(run.id, "failed", error=error, verdict=said)
    store.update_session(of.id, state="ready", message="")
    return store.run(run.id)


def keep(store: Store, run_id: int, misread: int = 12) -> None:
    """The files that a training run leaves."""
    store.put_artifact(run_id, "checkpoint.npz", "application/octet-stream", b"weights")
    store.put_artifact(run_id, "timeline.json", "application/json", json.dumps(timeline()).encode())
    digits = [{"png": digit(number), "label": 7, "predicted": 1, "probability": 0.83} for number in range(misread)]
    store.put_artifact(run_id, "misclassified.json", "application/json", json.dumps(digits).encode())


def timeline(steps: int = 30) -> dict[str, Any]:
    """The Chrome trace of some steps of two ranks, of which the second computes longer."""
    marks = np.zeros((2, steps, 5))
    for rank in (0, 1):
        compute = 0.060 + 0.010 * rank
        for step in range(steps):
            begin = 1_763_000_000 + 0.09 * step
            met = begin + 0.002 + 0.070 + 0.015  # both have exchanged when the slower one has
            marks[rank, step] = [begin, begin + 0.002, begin + 0.002 + compute, met, met + 0.001]
    return trace(marks, 3, ["laptop", "laptop"])


def digit(number: int) -> str:
    """A small grey picture of a stroke, as base64."""
    pixels = np.zeros((28, 28), np.uint8)
    pixels[4:24, 8 + number % 12 : 11 + number % 12] = 220
    buffer = io.BytesIO()
    Image.fromarray(pixels, "L").save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()
