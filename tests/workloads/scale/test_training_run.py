"""A training run calibrates: compute and bytes that are known are found in its events, and other runs are refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.web import seed
from workshop.core.errors import BadInput
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.workloads.scale.step import predict
from workshop.workloads.scale.training_run import measurement

RANKS, STEPS, COMPUTE, EXCHANGE, BYTES = 4, 30, 0.1, 0.02, 4_000_000
METRICS = {
    "exchange": "mpi",
    "updates": STEPS,
    "bytes_per_step": BYTES,
    "messages_per_step": 1,
    "images_per_second": RANKS * 32 / (COMPUTE + EXCHANGE),
}


@pytest.fixture
def store(workshop_home: Path) -> Iterator[Store]:
    with Store.open() as store:
        yield store


def trained(store: Store, ranks: int = RANKS, steps: int = STEPS, **metrics: Any) -> RunRecord:
    """A training run whose events are known: the first steps took ten times as long."""
    stream = np.random.default_rng(1)
    with seed.alive(store, "class") as session:
        run = store.submit(session.id, "mnist", {}, {"ranks": ranks})
    compute = COMPUTE * np.exp(0.05 * stream.standard_normal((ranks, steps)))
    compute[:, :2] *= 10
    late = compute.max(axis=0) - compute
    for rank in range(ranks):
        events = [
            (time.time(), f"time.{phase}", step, float(seconds))
            for step in range(steps)
            for phase, seconds in (
                ("compute", compute[rank, step]),
                ("wait", late[rank, step]),
                ("communicate", EXCHANGE),
            )
        ]
        store.add_events(run.id, rank, 0, events)
    store.finish(run.id, "completed", metrics=METRICS | metrics)
    return store.run(run.id)


def test_events_of_a_training_are_a_calibration(store: Store) -> None:
    measured = measurement(store, trained(store))
    assert COMPUTE < measured.step - EXCHANGE < 1.2 * COMPUTE
    assert measured.params.parameters == BYTES / 4 and measured.params.batch in range(30, 38)
    bandwidth = 2 * (RANKS - 1) / RANKS * BYTES / (0.9 * EXCHANGE)
    assert measured.calibration.network.inside.bandwidth == pytest.approx(bandwidth, rel=0.01)
    same = predict(measured, measured.params, RANKS)
    assert same.seconds == pytest.approx(measured.step)
    assert same.parts["bandwidth"] + same.parts["latency"] == pytest.approx(EXCHANGE, rel=0.1)
    twice = predict(measured, measured.params.model_copy(update={"parameters": BYTES // 2}), RANKS)
    assert 0.8 * EXCHANGE < twice.seconds - same.seconds < 1.1 * EXCHANGE
    far = predict(measured, measured.params, 64)
    assert far.parts["stragglers"] > same.parts["stragglers"] and far.low < far.seconds < far.high


def test_a_parameter_server_has_the_bytes_of_all_ranks(store: Store) -> None:
    measured = measurement(store, trained(store, exchange="parameter-server"))
    assert measured.params.algorithm == "servers"
    bandwidth = 2 * (RANKS - 1) * BYTES / (0.9 * EXCHANGE)
    assert measured.calibration.network.inside.bandwidth == pytest.approx(bandwidth, rel=0.01)


@pytest.mark.parametrize(
    ("changes", "sentence"), [({"exchange": "none"}, "exchanged nothing"), ({"steps": 5}, "told the phases of 4 steps")]
)
def test_runs_that_measure_too_little_are_refused(store: Store, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        measurement(store, trained(store, **changes))
