"""The bench of kills: a real one, and what it makes of runs that don't go on."""

from __future__ import annotations

from typing import Any

import pytest

from workshop.core.errors import WorkshopError
from workshop.workloads.elastic import bench
from workshop.workloads.elastic.kills import Kill


@pytest.mark.real
def test_a_run_that_loses_a_rank_against_an_undisturbed_one() -> None:
    turns = []
    document = bench.run(kills=1, progress=lambda *turn: turns.append(turn))
    assert turns == [(0, 2), (1, 2), (2, 2)] and document["bench"] == "faults"
    ratios, rows = document["ratios"], {row["name"]: row for row in document["rows"]}
    assert ratios["survived"] == 1 and rows["runs_killed"]["value"] == 1
    assert 0 < rows["repair_seconds"]["value"] < ratios["median_seconds_to_next_step"]
    assert ratios["worst_seconds_to_next_step"] == rows["next_step_seconds"]["high"]
    assert ratios["accuracy_difference"] == pytest.approx(abs(rows["accuracy_change"]["value"]))
    assert rows["accuracy_undisturbed"]["value"] > 90


def metrics(rank: int | None, accuracy: float = 0.95, **others: Any) -> dict[str, Any]:
    """Of a run that has lost that rank as it was planned."""
    loss = {"rank": rank, "noticed_seconds": 0.1, "repair_seconds": 0.01, "next_step_seconds": 0.2}
    return {
        "losses": [] if rank is None else [loss],
        "ranks": [number for number in range(bench.RANKS) if number != rank],
        "images_read": bench.EPOCHS * bench.IMAGES,
        "exactly_once": True,
        "same_weights": True,
        "held_out_accuracy": accuracy,
        **others,
    }


def answer(kill: Kill | None, failure: str = "", **others: Any) -> dict[str, Any]:
    return {"kill": kill, "failure": failure, **metrics(kill.rank if kill else None, **others)}


@pytest.mark.parametrize(
    ("kill", "of_run", "words"),
    [
        (Kill(1, 9), metrics(1), ""),
        (None, metrics(None), ""),
        (Kill(1, 9), metrics(2), "lost rank 2, and ended with ranks 0 and 1"),
        (Kill(1, 9), metrics(None), "lost no rank, and ended with ranks 0 to 2"),
        (Kill(1, 9), metrics(1, exactly_once=False), "read images twice or left some out"),
        (Kill(1, 9), metrics(1, images_read=5), "read images twice or left some out"),
        (Kill(1, 9), metrics(1, same_weights=False), "different weights"),
    ],
)
def test_only_a_whole_run_has_survived(kill: Kill | None, of_run: dict[str, Any], words: str) -> None:
    failure = bench._failure("The run", kill, of_run)
    assert words in failure and bool(words) == bool(failure)


def test_a_run_that_did_not_survive_counts_and_is_named() -> None:
    lost = {"kill": Kill(0, 7), "failure": "The run with kill 0@step:7 has not ended within 60 s."}
    results = {
        bench.UNDISTURBED: [answer(None, accuracy=0.95), answer(None, accuracy=0.90)],
        "kill 1": [answer(Kill(1, 3), accuracy=0.94), answer(Kill(2, 5), accuracy=0.91)],
        "kill 2": [lost, answer(Kill(0, 9), accuracy=0.87)],
    }
    document = bench._document({"host": "here"}, results)
    rows = {row["name"]: row for row in document["rows"]}
    assert document["ratios"]["survived"] == 0.75 and rows["rank_0_killed"]["value"] == 2
    assert document["ratios"]["accuracy_difference"] == pytest.approx(1.0)  # -1, +1 and -3 points
    assert rows["accuracy_change"]["low"] == pytest.approx(-3.0)
    assert rows["not survived 1"]["value"] is None and "0@step:7" in rows["not survived 1"]["note"]


def test_without_a_survivor_or_a_whole_undisturbed_run_there_is_no_bench() -> None:
    lost = {"kill": Kill(0, 7), "failure": "It hung."}
    with pytest.raises(WorkshopError, match="No killed run survived: It hung"):
        bench._document({}, {bench.UNDISTURBED: [answer(None)], "kill 1": [lost]})
    with pytest.raises(WorkshopError, match=r"different weights.* nothing to compare with"):
        wrong = answer(None, failure="The run without a kill ended with different weights on its ranks.")
        bench._document({}, {bench.UNDISTURBED: [wrong], "kill 1": [answer(Kill(1, 3))]})
