"""What a run says of lost ranks, and what its page draws, from figures that are known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import run, times
from tests.report.test_panels import part, shown
from tests.web import seed
from workshop.report.verdict import verdict
from workshop.store.records import SessionRecord
from workshop.store.store import Store

LOSS = {"rank": 0, "step": 30, "at": 1.0, "noticed_seconds": 0.2, "repair_seconds": 0.004, "next_step_seconds": 0.25,
        "ranks": [1, 2]}  # fmt: skip
JOIN = {"rank": 0, "step": 41, "seconds": 6.0, "pause_seconds": 0.3, "ranks": [1, 2, 0]}
METRICS: dict[str, Any] = {
    "on_failure": "shrink",
    "ranks": [1, 2],
    "losses": [LOSS],
    "joins": [],
    "lost_steps": 0,
    "repeated_steps": 1,
    "next_step_seconds": 0.25,
    "examples_read": [{"epoch": 0, "read": 480, "distinct": 480}],
    "exactly_once": True,
    "train_images": 480,
    "held_out_accuracy": 0.95,
    "same_weights": True,
}


def words(**changes: Any) -> dict[str, str]:
    """Of a run whose rank 0 has computed for a hundredth of the others' time."""
    return verdict(run(workload="elastic", params={}, metrics=METRICS | changes), times([0.1, 10.0, 10.0]))


def test_a_loss_with_its_times() -> None:
    result = words()
    assert result["verdict"] == "Rank 0 was lost, and the training went on; the accuracy is 95 %."
    assert (
        "The next step was complete 250 ms after a loss. No complete step was lost; 1 step under way" in result["why"]
    )
    assert "Each of 1 epoch read each image once." in result["why"]
    assert "At the end, ranks 1 and 2 have the same weights." in result["why"]
    assert "--on-failure grow" in result["next"]


@pytest.mark.parametrize("on_failure", ["shrink", "grow", "restart"])
def test_seconds_of_a_lost_rank_are_not_compared_with_the_others(on_failure: str) -> None:
    lost, whole = words(on_failure=on_failure), words(on_failure=on_failure, losses=[], ranks=[0, 1, 2])
    assert "more" not in lost["why"] and "Also:" not in lost["why"]
    assert "Also:" in whole["why"], "the same times are compared where no rank was lost"
    assert whole["verdict"] == "No rank was lost; the accuracy is 95 %."


def test_a_new_rank_and_a_restart() -> None:
    grown = words(on_failure="grow", joins=[JOIN], ranks=[1, 2, 0])
    assert "ranks 0 to 2 have the same weights" in grown["why"]
    assert "--on-failure shrink" in grown["next"]
    again = {"rank": 1, "step": None, "at": 1.0, "next_step_seconds": 9.0, "ranks": [0, 1, 2]}
    restarted = words(on_failure="restart", losses=[again], lost_steps=7)
    assert "7 steps after the last checkpoint had to be trained again." in restarted["why"]


def test_the_page_has_the_losses(store: Store, session: SessionRecord) -> None:
    made = store.submit(session.id, "elastic", {}, seed.PLACEMENT)
    assert store.take_next(session.id).id == made.id
    assert "membership" not in shown(store, made), "nothing while all is well"
    store.finish(made.id, "completed", metrics=METRICS | {"joins": [JOIN], "losses": [LOSS]})
    card = shown(store, made)["membership"]
    assert part(card, "table")["rows"] == [
        ["rank 0 is gone", "30", "200 ms", "4 ms", "250 ms", "ranks 1 and 2"],
        ["new rank 0", "41", "", "300 ms", "", "ranks 0 to 2"],
    ]


def test_the_interval_that_suits_random_kills() -> None:
    figures = {"written": 10, "left_out": 0, "seconds_blocked": 0.02, "seconds_processor": 0.06, "interval_steps": 20}
    metrics = METRICS | {"checkpoints": figures, "updates": 100, "seconds": {"train": 10.0}}
    why = {
        kill: verdict(run(workload="elastic", params={"kill": kill}, metrics=metrics), times([1.0]))["why"]
        for kill in ("random:100", "random:1000", "0@step:30")
    }
    # A checkpoint costs 8 ms and a step 0.1 s: sqrt(2 * 0.008 * 10) = 0.4 s and sqrt(2 * 0.008 * 100) = 1.26 s.
    assert "cost up to 8 ms, and a kill comes every 100 steps on average, 10 s" in why["random:100"]
    assert "Young's interval is 400 ms" in why["random:100"] and "one checkpoint every 4 steps" in why["random:100"]
    assert "this run's is 20 steps." in why["random:100"]
    assert "one checkpoint every 13 steps" in why["random:1000"]
    assert "Young" not in why["0@step:30"]
