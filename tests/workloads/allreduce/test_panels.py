"""What the page of a run that measures all-reduces shows, while it goes on and afterwards."""

from __future__ import annotations

import time

import pytest

from tests.report.test_panels import part, shown
from tests.web import seed
from workshop.report.panels import overlaid, side_by_side
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.workloads.allreduce.panels import measured_curves

SIZES = (4, 1 << 10, 64 << 20)
SECONDS = {"own": (1e-5, 1.2e-5, 2e-2), "ring": (4e-5, 5e-5, 3e-2)}


def begun(store: Store, session: SessionRecord, measured: dict[str, tuple[float, ...]]) -> RunRecord:
    """A run that has measured so much."""
    run = store.submit(session.id, "allreduce", {}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine)
    now = time.time()
    events = [(now, "message", number, float(size)) for number, size in enumerate(SIZES)]
    for place, (method, seconds) in enumerate(measured.items(), 1):
        for number, took in enumerate(seconds):
            at = now + place + 0.1 * number
            events += [(at, f"latency {method}", number, took), (at, "time.communicate", number, took)]
    store.add_events(run.id, 0, 1, events)
    return store.run(run.id)


@pytest.mark.real
def test_a_run_that_goes_on_is_drawn_as_far_as_it_is(store: Store, session: SessionRecord) -> None:
    run = begun(store, session, {"own": SECONDS["own"], "ring": SECONDS["ring"][:2]})
    own, ring = measured_curves(Snapshot(store, run))
    assert (own.method, own.sizes, own.seconds) == ("own", SIZES, SECONDS["own"])
    assert (ring.method, ring.sizes) == ("ring", SIZES[:2])
    there = shown(store, run)
    assert {"latency", "bandwidth", "all-reduces"} <= there.keys()
    assert not any(name.startswith(("latency ", "bandwidth ", "message")) for name in there), "no curves over steps"
    names = [trace.name for trace in part(there["bandwidth"], "figure")["figure"].data]
    assert names == ["own", "ring"]


@pytest.mark.real
def test_a_finished_run_says_what_memory_allows_and_what_was_left_out(store: Store, session: SessionRecord) -> None:
    run = begun(store, session, SECONDS)
    left_out = {"horovod": "it is not built on this machine"}
    metrics = {
        "sizes": list(SIZES),
        "seconds": {name: list(seconds) for name, seconds in SECONDS.items()},
        "left_out": left_out,
        "memory_bandwidth": 8e9,
    }
    store.finish(run.id, "completed", metrics=metrics, error=None, verdict=None)
    there = shown(store, run)
    traces = part(there["bandwidth"], "figure")["figure"].data
    assert [trace.name for trace in traces] == ["own", "ring", "copied in memory"]
    table = part(there["all-reduces"], "table")
    assert table["headings"][1:3] == ["4 B", "64 MiB"]
    assert table["rows"][0][:3] == ["own", "10 µs", "20 ms"]
    (note,) = part(there["all-reduces"], "words")["lines"]
    assert note["text"] == "horovod: it is not built on this machine."


@pytest.mark.real
def test_a_comparison_has_the_latencies_of_two_runs_in_one_plot(store: Store, session: SessionRecord) -> None:
    runs = [begun(store, session, {"own": SECONDS["own"]})]
    store.finish(runs[0].id, "completed", metrics={}, error=None, verdict=None)
    runs.append(begun(store, session, {"own": SECONDS["ring"], "latency": SECONDS["own"]}))
    snapshots = {f"run {run.id}": Snapshot(store, run) for run in runs}
    first, second = snapshots
    (plot, *_) = overlaid({**snapshots, "other": Snapshot(store, seed.completed(store, session))})
    traces = plot.parts[1]["figure"].data
    assert [trace.name for trace in traces] == [f"{first} own", f"{second} own", f"{second} latency"]
    assert [tuple(trace.y) for trace in traces[:2]] == [SECONDS["own"], SECONDS["ring"]]
    assert traces[0].line.color == traces[1].line.color and traces[0].line.dash != traces[1].line.dash
    beside = {card.name for snapshot in snapshots.values() for card in side_by_side(snapshot)}
    assert "all-reduces" in beside and "latency" not in beside
