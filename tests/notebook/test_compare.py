"""Runs side by side in a notebook."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.web import seed
from workshop.core.errors import BadInput
from workshop.notebook.comparison import ComparisonShown, compare
from workshop.notebook.shown import RunShown
from workshop.store.records import RunRecord
from workshop.store.store import Store


@pytest.fixture
def pair(store: Store) -> tuple[RunShown, RunShown]:
    with seed.alive(store, "class") as session:
        return RunShown(store, seed.completed(store, session)), RunShown(store, seed.completed(store, session))


def changed(run: RunShown, **values: Any) -> RunRecord:
    return replace(run.record, **values)


def test_what_differs_comes_first(store: Store, pair: tuple[RunShown, RunShown]) -> None:
    one, two = pair
    metrics = {**two.metrics, "inertia": 40.0}
    placement, params = {**two.placement, "ranks": 1}, {**two.params, "clusters": 8}
    found = ComparisonShown(store, [one.record, changed(two, metrics=metrics, placement=placement, params=params)])
    assert found.settings == [
        ("placement", "2 ranks × 1 thread", "1 rank × 1 thread"),
        ("clusters", "4", "8"),
        ("ranks", "2", "1"),
    ]
    assert found.results[0] == ("inertia", "51.8", "40")
    assert found.table.loc["clusters"].tolist() == ["4", "8"]
    assert list(found.table.columns) == [f"run {one.id}", f"run {two.id}"]
    words = repr(found)
    assert words.index("clusters") < words.index("inertia")
    assert "Well balanced." in words


def test_curves_of_all_in_one_figure(pair: tuple[RunShown, RunShown]) -> None:
    found = compare(*pair)
    assert found.figures[0] == "inertia"
    assert [trace.name for trace in found.figure().data] == [f"run {run.id}" for run in pair]
    with pytest.raises(BadInput, match="has no figure 'los'; there are inertia"):
        found.figure("los")


def test_runs_by_number_and_more_than_two(pair: tuple[RunShown, RunShown]) -> None:
    one, two = pair
    assert [run.id for run in compare(one.id, two.id, one).runs] == [one.id, two.id, one.id]
    assert [run.id for run in compare([one, two]).runs] == [one.id, two.id]
    same = compare(one, one)
    assert same.settings == []
    assert "Nothing was set differently" in repr(same)
    html = "".join(piece for piece in same.pieces() if isinstance(piece, str))
    assert f"run {one.id} (2)" in html


def test_what_people_wrote_is_escaped(store: Store, pair: tuple[RunShown, RunShown]) -> None:
    one, two = pair
    evil = changed(two, params={**two.params, "image": "<script>"}, metrics={**two.metrics, "note": "<b>"})
    html = "".join(piece for piece in ComparisonShown(store, [one.record, evil]).pieces() if isinstance(piece, str))
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert "<b>" not in html
    shown = RunShown(store, changed(one, error={"rank": 1, "host": "<i>", "type": "E", "message": "<u>"})).head()
    assert "<i>" not in shown
    assert "<u>" not in shown


@pytest.mark.parametrize("runs", [(), (1,), (1, True), ("two", 1), (1, 4711), tuple(range(1, 10))])
def test_what_can_t_be_is_one_sentence(pair: tuple[RunShown, RunShown], runs: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput) as raised:
        compare(*runs)
    assert "\n" not in str(raised.value)
