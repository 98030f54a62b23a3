"""What differs between runs."""

from __future__ import annotations

from dataclasses import replace

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


def test_the_ratio_to_a_baseline(store: Store, session: SessionRecord) -> None:
    run = replace(seed.completed(store, session), started_at=100.0, finished_at=110.0)
    slow = replace(run, id=7, metrics={"points_per_second": 1e6})
    fast = replace(run, id=8, finished_at=105.0, metrics={"points_per_second": 1.9e6})
    (sentence,) = comparison.ratios(slow, [fast])
    assert sentence == (
        "The work of run 8 is 1.9 times as fast as the work of run 7: 1.9 M points/s instead of 1 M "
        "points/s. From its start to its end, it took 5 s instead of 10 s."
    )
    assert "The work of run 7 takes 1.9 times as long as the work of run 8" in comparison.ratios(fast, [slow])[0]
    assert "The work of run 9 is as fast as the work of run 7" in comparison.ratios(slow, [replace(slow, id=9)])[0]
    unmeasured = [replace(each, metrics={}) for each in (slow, fast)]
    assert comparison.ratios(unmeasured[0], unmeasured[1:]) == [
        "Run 8 is 2 times as fast as run 7: it took 5 s instead of 10 s."
    ]
    assert "computes something else" in comparison.ratios(slow, [replace(fast, workload="mnist")])[0]
    assert comparison.ratios(slow, [replace(fast, finished_at=None), replace(fast, status="failed")]) == []


def test_curves_of_both(store: Store, session: SessionRecord) -> None:
    runs = {f"run {run.id}": Snapshot(store, run) for run in (seed.completed(store, session) for _ in range(2))}
    (name, *_) = comparison.curves(runs.values())
    assert {trace.name for trace in comparison.curve(runs, name).data} == set(runs)
