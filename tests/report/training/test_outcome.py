"""What a training run came to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.report.analysis.cases import times, trained
from workshop.report.verdict import verdict
from workshop.store.records import Total

EVEN = times([1.2, 1.2], [0.15, 0.15], [0.03, 0.03])
LATE = {
    "phases": {"input": [0.02] * 3, "compute": [1.0, 3.0, 1.0], "communicate": [0.1] * 3, "wait": [2.0, 0.0, 2.0]},
    "last": [1, 98, 1],
    "late_by": [0.0001, 0.02, 0.0001],
}


def test_a_run_with_nothing_wrong_says_what_it_came_to() -> None:
    said = verdict(trained(), EVEN)
    assert said == {
        "verdict": "Trained to 97.2 % in 1.42 s at 9,810 images/s.",
        "why": "8 epochs, 102 updates on 2 ranks over Horovod. The target of 95 % was reached after 610 ms of training "
        "(3 epochs). Moving data took 12 % of the ranks' time. The ranks hardly waited for each other: 300 µs of a "
        "step of 13 ms.",
        "next": "Compare with 1 rank (--ranks 1): how close to 2 times as fast is it? Or switch off a step of the "
        "recipe, such as the broadcast (--broadcast no), and see what breaks.",
    }


def test_a_target_that_was_not_reached_asks_for_more() -> None:
    said = verdict(trained(2, {"held_out_accuracy": 0.9, "time_to_target": None, "epochs_to_target": None}), EVEN)
    assert said["verdict"].startswith("Trained to 90 %")
    assert "didn't come to the target of 95 %" in said["why"]
    assert "--epochs 16" in said["next"]


@pytest.mark.parametrize(
    ("updates", "resumed", "advice"),
    [(20, None, "Train for longer (--steps 40)"), (56, {"epoch": 3, "update": 36}, "Train for longer (--steps 40)")],
)
def test_a_run_that_was_ended_by_steps_asks_for_more_of_them(updates: int, resumed: Any, advice: str) -> None:
    told = {"time_to_target": None, "epochs": 4, "updates": updates, "resumed": resumed}
    assert advice in verdict(trained(2, told, steps=20), EVEN)["next"]


def test_one_rank_is_the_baseline() -> None:
    said = verdict(trained(1), times([1.2], [0.0]))
    assert "102 updates on one rank." in said["why"]
    assert "baseline" in said["next"]


@pytest.mark.parametrize(
    ("told", "params", "remark"),
    [
        (
            {"resumed": {"epoch": 3, "update": 36}},
            {"resume": "12"},
            "run 12's checkpoint, with 3 epochs and 36 updates",
        ),
        (
            {"resumed": {"epoch": 3, "update": 36, "differs": ["ranks", "seed", "digest"]}},
            {"resume": "12"},
            "It went on with another seed and number of ranks, and other data than before",
        ),
        (
            {"bytes_per_step": 228_000, "gradient_bytes": 900_000},
            {"compression": "8bit", "exchange": "mpi"},
            "With the compression 8bit, rank 0 handed over 228 kB in each step; the gradients have 900 kB.",
        ),
        ({"hidden": 0.83}, {}, "83 % of the exchange's time passed while the ranks still computed gradients."),
        ({}, {"data": "auto"}, "scikit-learn's digits, scaled to 28x28, because MNIST is not here."),
        (
            {"mpi_seconds": 0.0005},
            {},
            "Horovod took 1.5 ms to exchange the gradients of a step; one all-reduce of mpi4py, timed after the "
            "training, took 500 µs. A step could be 8 % shorter with it (--exchange mpi)",
        ),
    ],
)
def test_what_else_is_to_be_known(told: dict[str, Any], params: dict[str, Any], remark: str) -> None:
    said = verdict(trained(2, told, **params), EVEN)
    assert said["verdict"].startswith("Trained to 97.2 %") and remark in said["why"]


CHECKPOINTS = {"written": 7, "kept": 7, "left_out": 1, "bytes": 7, "differ": False, "interval_steps": 13}
COST = {"seconds_blocked": 0.008, "seconds_writing": 0.3, "seconds_processor": 0.14}  # 1 ms of each of 8, 20 ms of 7


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (24, "comes every 24 h on average (mtbf), Young's interval is 60.2 s, one checkpoint every 4,634 steps; "),
        (0.001, "Young's interval is 389 ms, one checkpoint every 30 steps (--checkpoint-every 30); this run's is 13 "),
        (0.0001, "Young's interval is 123 ms, one checkpoint every 9 steps; this"),
    ],
)
def test_the_cost_of_a_checkpoint_suggests_an_interval(hours: float, words: str) -> None:
    why = verdict(trained(2, {"checkpoints": CHECKPOINTS | COST}, mtbf=hours), EVEN)["why"]
    assert "cost up to 21 ms of training: rank 0 stopped for 1 ms, and writing took 20 ms of processor time" in why
    assert words in why
    assert "1 checkpoint was left out, because earlier ones were still being written." in why


def test_a_straggler_is_told_with_whom_it_kept_waiting() -> None:
    said = verdict(trained(3, LATE), {})
    assert said["verdict"] == "Rank 1 holds up the others."
    assert "Ranks 0 and 2 waited 20 ms a step for rank 1, last in 98 of 100 steps" in said["why"]
    assert "so see what else works on core 1." in said["why"]
    assert "if rank 1 is late again, something else works on core 1;" in said["next"]
    assert "Trained to 97.2 %" in said["why"]


def test_a_rank_that_came_last_in_few_steps_is_not_named() -> None:
    said = verdict(trained(3, LATE | {"last": [40, 20, 40], "late_by": [0.0001, 0.1, 0.0001]}), {})
    assert said["verdict"] == "Disturbed: a few steps took much longer, so nobody can be named who is late."
    assert "most of it for rank 1, last in only 20 of 100 steps" in said["why"]


def test_ranks_that_exchange_nothing_hold_nobody_up() -> None:
    alone = {"exchange": "none", "weights": ["abc", "def", "ghi"], "spread": 0.3}
    said = verdict(trained(3, LATE | alone, exchange="none"), {})
    assert said["verdict"].startswith("The ranks train different networks") and "Also" not in said["why"]


HEAVY = {"bytes_per_step": 9_000_000}


@pytest.mark.parametrize(
    ("exchange", "advice"),
    [("mpi-per-tensor", "--exchange mpi)"), ("parameter-server", "auto"), ("mpi", "--batch 128")],
)
def test_communication_of_gradients_has_its_own_advice(exchange: str, advice: str) -> None:
    phases = {"input": [0.0] * 2, "compute": [1.0] * 2, "communicate": [1.5] * 2, "wait": [0.0] * 2}
    said = verdict(trained(2, {"exchange": exchange, "phases": phases, "messages_per_step": 8, **HEAVY}), {})
    assert said["verdict"] == "Communication dominates."
    assert "60 % of the ranks' time" in said["why"] and "9 MB in 8 messages" in said["why"]
    assert advice in said["next"]


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_run_with_a_checkpoint_can_go_on(status: str) -> None:
    error = {"type": "RankDied", "rank": 1, "message": "rank 1 was ended by SIGKILL"}
    ended = replace(trained(), status=status, error=error if status == "failed" else None, metrics={}, id=41)
    without = verdict(ended, EVEN)
    assert "--resume" not in without["next"]
    said = verdict(ended, EVEN | {"time.checkpoint": {0: Total(3, 0.02)}})
    assert said["next"].endswith("Or go on from its checkpoint (--resume 41).")
    assert said["next"].startswith(without["next"].rstrip("."))
