"""What differs between runs."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from tests.web import seed
from workshop.report import comparison
from workshop.report.snapshot import Snapshot
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def test_settings_that_differ(store: Store, session: SessionRecord) -> None:
    one = seed.completed(store, session)
    assert comparison.settings([one, one]) == []
    hosts = [{"name": "a", "slots": 2}, {"name": "b", "slots": 1}]
    other = replace(
        one,
        workload="gone",
        params={**one.params, "clusters": 8, "image": "/home/teacher/photo.jpg"},
        placement={**one.placement, "hosts": hosts, "oversubscribe": True, "environment": {"A": "1"}},
    )
    rows = {name: values for name, *values in comparison.settings([one, other])}
    assert rows["workload"] == ["k-means", "gone"]
    assert rows["clusters"] == ["4", "8"]
    assert rows["image"][1] == "photo.jpg", "the folder is nobody else's business"
    assert rows["hosts"] == ["–", "a:2, b:1"]
    assert rows["oversubscribe"] == ["–", "yes"]
    assert rows["environment"] == ["–", "A=1"]


def test_figures_have_their_ratio_to_the_first_run(store: Store, session: SessionRecord) -> None:
    run = replace(seed.completed(store, session), started_at=100.0, finished_at=110.0)
    slow = replace(run, id=7, metrics={"points_per_second": 1e6})
    fast = replace(run, id=8, finished_at=105.0, metrics={"points_per_second": 1.9e6, "iterations": 3})
    time, throughput = comparison.figures([slow, fast])
    assert (time[0], time[1:]) == ("from start to end", ("10 s", "5 s (0.5 ×)"))
    assert throughput[0] == "throughput" and throughput[2].endswith("points/s (1.9 ×)")
    assert comparison.figures([slow, replace(fast, workload="mnist")]) == []
    assert comparison.figures([slow, replace(fast, finished_at=None, metrics={})]) == []


def test_bars_beside_each_other_have_one_scale() -> None:
    plots = [go.Figure([go.Bar(x=[length, 1], y=["a", "b"], orientation="h")] * 2) for length in (2, 5)]
    comparison.on_one_scale(plots)
    assert [plot.layout.xaxis.range for plot in plots] == [(0, 10.5)] * 2


def test_curves_of_both(store: Store, session: SessionRecord) -> None:
    runs = {f"run {run.id}": Snapshot(store, run) for run in (seed.completed(store, session) for _ in range(2))}
    (name, *_) = comparison.curves(runs.values())
    assert {trace.name for trace in comparison.curve(runs, name).data} == set(runs)
