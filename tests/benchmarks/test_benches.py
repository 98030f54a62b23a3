"""Benches, short but real, and what they refuse to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import chaos, elastic, kmeans, mnist, regression
from tests import mpis
from tests.support import need
from workshop.core.errors import WorkshopError
from workshop.mpi import horovod
from workshop.workloads.elastic.kills import Kill


@pytest.mark.real
def test_kmeans_with_its_peers(workshop_home: Path) -> None:
    mpis.use(workshop_home, "mpich", "daal4py")
    found = kmeans.run(repeats=1, clusters=(10,), points=30_000)
    rows = {row["name"]: row for row in found["rows"] if row["unit"] == "s"}
    assert rows["faiss_k10"]["note"] == "faiss is not installed; `python -m benchmarks peers` does that."
    assert {row["iterations"] for name, row in rows.items() if name.endswith("_k10") and row["value"]} >= {20}
    assert set(found["ratios"]) == {
        *(f"{name}_k10" for name in ("daal4py_distributed", "daal4py_threads", "sklearn", "sklearnex")),
        *(f"{name}_converged_k10" for name in ("sklearn", "sklearn_elkan", "sklearnex")),
    }
    ratio = rows["sklearn_k10"]["value"] / rows["ours_k10"]["value"]
    assert found["ratios"]["sklearn_k10"] == pytest.approx(ratio)
    assert found["intervals"]["sklearn_k10"] == pytest.approx([ratio, ratio])


@pytest.mark.exhaustive
@pytest.mark.real
def test_mnist_in_a_session_against_the_script(workshop_home: Path) -> None:
    need(horovod.built(), "Horovod")
    found = mnist.run(repeats=1, steps=20)
    assert set(found["ratios"]) == set(mnist.RATIOS) and all(value > 0 for value in found["ratios"].values())
    assert {row["name"] for row in found["rows"]} == {*mnist.CONTENDERS, "telling_share", *mnist.RATIOS}
    assert not (workshop_home / "workshop.db").exists(), "the bench is nobody's history"


def test_contenders_that_disagree_are_no_comparison() -> None:
    order = {"clusters": 2, "points": 20_000}
    answers = {name: [{"seconds": 1.0, "iterations": 20, "centroids": [[place] * 10] * 2}] for name, place in PLACES}
    with pytest.raises(WorkshopError, match="don't agree for k = 2"):
        kmeans.compared("k2", order, answers)
    with pytest.raises(WorkshopError, match="those of sklearn differ"):
        regression.agreement({"ours": {"coefficients": [1.0, 2.0]}, "sklearn": {"coefficients": [1.0, 2.1]}})
    with pytest.raises(WorkshopError, match="counted 299 steps instead of 300"):
        mnist.checked({"measured_steps": 299, "weights": ["a", "a"]}, 300)
    with pytest.raises(WorkshopError, match="same weights"):
        mnist.checked({"measured_steps": 300, "weights": ["a", "b"]}, 300)


PLACES = (("ours", 0.0), ("sklearn", 9.0))


def test_a_run_that_lost_another_rank_has_not_survived() -> None:
    metrics = {"losses": [{"rank": 1}], "ranks": [0, 2], "exactly_once": True, "same_weights": True}
    metrics["images_read"] = elastic.EPOCHS * elastic.IMAGES
    assert elastic.failure(Kill(1, 7), metrics) == ""
    assert "lost the ranks [1] instead of [0]" in elastic.failure(Kill(0, 7), metrics)
    assert "different weights" in elastic.failure(Kill(1, 7), metrics | {"same_weights": False})


@pytest.mark.parametrize(
    ("target", "hit", "status", "error", "true"),
    [
        ("rank", True, "completed", None, True),
        ("rank", True, "failed", {"type": "RankDied", "message": "rank 1 was ended"}, True),
        ("rank", False, "failed", {"type": "RankDied", "message": "rank 1 was ended"}, False),
        ("rank", True, "failed", {"type": "KeyError", "message": "x"}, False),
        ("conductor", True, "interrupted", {"type": "Interrupted", "message": "x"}, True),
        ("dashboard", True, "failed", {"type": "RankDied", "message": "x"}, False),
    ],
)
def test_how_a_run_can_end_after_a_kill(
    target: str, hit: bool, status: str, error: dict[str, str] | None, true: bool
) -> None:
    assert chaos.true_status(target, hit, status, error) is true
