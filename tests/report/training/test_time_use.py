"""On what a whole run has spent its time."""

from __future__ import annotations

import pytest

from tests.report.analysis.cases import metrics, run
from workshop.report.training.facts import evaluation_share, spent

SECONDS = {"prepare": 1.0, "train": 3.0, "evaluate": 0.5, "checkpoint": 0.2, "earlier": 100.0}
PHASES = {"compute": [2.0, 2.0], "communicate": [0.1, 0.1], "wait": [0.8, 0.4], "input": [0.1, 0.1]}


def test_parts_add_up_to_the_run():
    one = run(metrics=metrics(2, seconds=SECONDS, phases=PHASES))  # from 1001.0 to 1006.0
    parts = spent(one)
    assert list(parts) == ["training", "wait", "evaluation", "preparation", "rest"]
    assert parts["wait"] == pytest.approx(0.6)
    assert parts["training"] == pytest.approx(2.4)
    assert parts["rest"] == pytest.approx(0.5)
    assert sum(parts.values()) == pytest.approx(5.0)
    assert evaluation_share(one) == pytest.approx(0.5 / 3.5), "as if there were nothing but training and evaluation"


def test_what_compiles_is_preparation():
    """A short run compiles for longer than it trains: that is no work that more iterations would have more of."""
    told = SECONDS | {"train": 8.0}
    parts = spent(run(metrics=metrics(2, seconds=told, phases=PHASES, telling_share=0.01), finished_at=None))
    assert parts["training"] + parts["wait"] == pytest.approx(3.0 + 0.08), "the slowest rank's steps, and telling"
    assert parts["preparation"] == pytest.approx(1.0 + 4.92)
    assert sum(parts.values()) == pytest.approx(8.0 + 0.5 + 1.0)
    short = run(metrics=metrics(2, seconds=told, phases={"compute": [0.0, 0.0]}, telling_share=0.0), finished_at=None)
    assert spent(short)["training"] == 8.0, "nothing was measured"
