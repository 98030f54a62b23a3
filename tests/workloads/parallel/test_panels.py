"""The page of a run of the workload, and its verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.test_panels import part, shown, text
from tests.web import seed
from workshop.report.verdict import verdict
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.workloads.parallel import schedules
from workshop.workloads.parallel.schedules import SCHEDULES, simulate

LEDGER = {"weights": 100, "gradients": 100, "optimizer": 200, "activations": 900, "buffers": 10}
METRICS: dict[str, Any] = {
    "grid": "pipeline 2",
    "pipeline": [0, 1],
    "rate": 120.0,
    "weights_difference": 2e-11,
    "bytes_per_step": 1500.0,
    "bytes_expected": 1500.0,
    "bytes_difference": 0,
    "calls_difference": 0,
    "idle": 0.2,
    "expected_idle": 0.21,
    "memory_planned": [LEDGER, LEDGER],
    "memory_counted": [LEDGER, LEDGER],
    "memory_peak": [10**8, 10**8],
    "traffic": [{"pipeline message": [4, 750]}, {"pipeline message": [4, 750]}],
    "rank_seconds": [0.02, 0.02],
    "dropped": 0,
    "paced": False,
}


def ended(store: Store, session: SessionRecord, params: dict[str, Any], **changes: Any) -> RunRecord:
    run = store.submit(session.id, "parallel", params, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    spans = simulate(SCHEDULES["gpipe"](2, 4), lambda work: {"forward": 0.01, "backward": 0.02}[work.kind])
    trace = schedules.write({stage: [span for span in spans if span.stage == stage] for stage in range(2)})
    store.put_artifact(run.id, schedules.FILE, "application/json", trace)
    store.finish(run.id, "completed", metrics={**METRICS, **changes})
    return store.run(run.id)


def test_a_run_shows_its_pipeline_its_bytes_and_its_memory(store: Store, session: SessionRecord) -> None:
    cards = shown(store, ended(store, session, {"cut": "pipeline:2"}))
    rows = {trace.name: len(trace.y) for trace in part(cards["pipeline"], "figure")["figure"].data}
    assert rows["forward"] == rows["backward"] == 8, "four micro-batches on two stages"
    assert "Idle for 20 % of the time; predicted 21 %." in text(cards["pipeline"])
    assert part(cards["traffic"], "table")["rows"] == [["pipeline", "message", "8", "1.5 kB"]]
    assert len(part(cards["memory-ledger"], "table")["rows"]) == 2


def test_a_run_without_stages_shows_no_pipeline(store: Store, session: SessionRecord) -> None:
    cards = shown(store, ended(store, session, {}, pipeline=[0], idle=None, expected_idle=None, grid="data 2"))
    assert "pipeline" not in cards and "traffic" in cards


@pytest.mark.parametrize(
    ("params", "changes", "words"),
    [
        ({}, {}, ["exactly the bytes of the formula", "rounding in another order", "activations"]),
        ({}, {"weights_difference": 0.1}, ["which rounding doesn't explain"]),
        ({}, {"idle": 0.5}, ["idle for 50 % of the time: the pipeline fills and empties", "--micro-batches 8"]),
        (
            {"layers": "1,7"},
            {"idle": 0.5, "rank_seconds": [0.01, 0.03]},
            ["rank 1 has the most work", "--layers ''"],
        ),
        ({}, {"idle": 0.5, "rank_seconds": [0.01, 0.03]}, ["rank 1 has the most work", "Give rank 1 fewer layers"]),
        ({"fault": "no-halo"}, {}, ["Stripes without their halo", "--fault none"]),
        ({"fault": "no-gather", "zero": 1}, {}, ["collect the weights"]),
        ({}, {"dropped": 3, "paced": True}, ["3 characters", "paced"]),
        ({}, {"traffic": [{}, {}]}, ["Nothing was exchanged"]),
    ],
)
def test_verdicts(
    store: Store, session: SessionRecord, params: dict[str, Any], changes: dict[str, Any], words: list[str]
) -> None:
    run = ended(store, session, params, **changes)
    sentences = " ".join(verdict(run, store.totals(run.id)).values())
    for sentence in words:
        assert sentence in sentences
