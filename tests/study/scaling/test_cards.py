"""Scaling cards hold the medians, the ideal, and what others have published."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest

from tests.study import seed
from tests.web import seed as class_seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.cards import cards
from workshop.study.kinds import report


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def figures(store: Store, session: SessionRecord, **study: int) -> dict[str, go.Figure]:
    made = cards(report(store, store.study(seed.study(store, session, **study).id)))
    return {card.name: part["figure"] for card in made for part in card.parts if part["kind"] == "figure"}


def test_speed_up_and_throughput(store: Store, session: SessionRecord) -> None:
    drawn = figures(store, session, failing=4)
    speed = {trace.name: trace for trace in drawn["speed-up"].data}
    assert list(speed["measured here"].y) == pytest.approx([1.0, 9900 / 5200])
    assert list(speed["ideal"].y) == [1.0, 2.0, 4.0]
    assert {"ResNet-50, 2 GPUs (Jain 2022)", "U-Net, 2 nodes (Sobhee 2021)"} < speed.keys()
    assert [(note.text) for note in drawn["speed-up"].layout.annotations] == ["failed"], "four ranks"
    rates = {trace.name: trace for trace in drawn["throughput"].data}
    assert list(rates["measured here"].y) == [5200.0, 9900.0]
    for figure in drawn.values():
        assert "NaN" not in figure.to_json()
        json.loads(figure.to_json())
