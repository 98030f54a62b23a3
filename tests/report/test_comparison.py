"""What differs between runs."""

from __future__ import annotations

from dataclasses import replace

from tests.server import seed
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


def test_results_that_differ_and_results_that_do_not(store: Store, session: SessionRecord) -> None:
    one = seed.completed(store, session)
    different, same = comparison.results([one, replace(one, metrics={**one.metrics, "inertia": 40.0, "more": 1})])
    assert different == [("inertia", "51.8", "40"), ("more", "–", "1")]
    assert same and all(len(set(values)) == 1 for _, *values in same)
    assert comparison.results([replace(one, metrics={})] * 2) == ([], [])


def test_curves_of_both(store: Store, session: SessionRecord) -> None:
    runs = {f"run {run.id}": Snapshot(store, run) for run in (seed.completed(store, session) for _ in range(2))}
    (name, *_) = comparison.curves(runs.values())
    assert {trace.name for trace in comparison.curve(runs, name).data} == set(runs)
