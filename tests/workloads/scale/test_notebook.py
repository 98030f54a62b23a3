"""Predictions in a notebook: a table in words, the prediction of a number of ranks, and bad input in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web import seed
from tests.workloads.scale.test_step import PARAMS, RANKS, document
from workshop.core.errors import BadInput
from workshop.notebook.shown import RunShown
from workshop.store.store import Store
from workshop.workloads.scale.notebook import predict


@pytest.fixture
def run(workshop_home: Any) -> Any:
    with Store.open() as store, seed.alive(store, "class") as session:
        record = store.submit(session.id, "training-step", dict(PARAMS), {"ranks": RANKS})
        metrics = json.loads(json.dumps(document()["metrics"])) | {"examples_per_second": 2560.0}
        store.finish(record.id, "completed", metrics=metrics)
        yield RunShown(store, store.run(record.id))


def test_a_run_predicts_other_numbers_of_ranks(run: RunShown) -> None:
    predictions = predict(run, (RANKS, 2048), measured=[run], half=True)
    assert predictions[2048].low < predictions[2048].seconds < predictions[2048].high
    assert predictions[2048].rate > predictions[RANKS].rate
    assert "2,048" in predictions.words() and "90 % interval" in predictions.words()
    assert any(not isinstance(piece, str) for piece in predictions.pieces())
    assert predict(run, 8)[8].ranks == 8


@pytest.mark.parametrize(
    ("ranks", "changes", "sentence"),
    [
        (0, {}, "0 ranks can't be predicted"),
        (4, {"bandwith": 5}, "bandwith"),
    ],
)
def test_bad_input_is_a_sentence(run: RunShown, ranks: Any, changes: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        predict(run, ranks, **changes)
