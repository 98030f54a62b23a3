"""What an attack on updates says of itself, from figures that are known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict
from workshop.workloads.inversion import WORKLOAD
from workshop.workloads.inversion.report import LOST, RECOVERED, TOLD_APART, outcome


def picture(likeness: float = 50.0, nearest: bool = True, **changes: Any) -> dict[str, Any]:
    told = {"rank": 0, "label": 5, "read": 5, "correlation": 0.99, "other": 0.8}
    return {**told, "likeness": likeness, "nearest": nearest, **changes}


GOOD, POOR, GONE = picture(), picture(9.0), picture(5.0, nearest=False, correlation=0.1, other=0.3)


def said(*pictures: dict[str, Any], metrics: dict[str, Any] | None = None, **params: Any) -> dict[str, str]:
    told = {"pictures": list(pictures), "train_images": 1437, "labels_right": len(pictures), **(metrics or {})}
    given = WORKLOAD.check({"data": "digits", **params}).model_dump()
    where = {"machine": machine(2), "rank_map": rank_map([0], [1])}
    return verdict(run(workload="inversion", params=given, metrics=told, **where), {})


def test_what_counts_as_recovered():
    assert [outcome(one) for one in (GOOD, POOR, GONE)] == [RECOVERED, TOLD_APART, LOST]
    assert outcome(picture(20.0)) == RECOVERED
    assert outcome(picture(19.9)) == TOLD_APART
    assert outcome(picture(40.0, nearest=False)) == LOST, "it is another image"


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([GOOD], "1 of 1 digit recovered."),
        ([GOOD, POOR, GONE], "1 of 3 digits recovered; 1 can still be told from all other images."),
        ([GONE, GONE], "0 of 2 digits recovered."),
    ],
)
def test_how_many_were_recovered(pictures, words):
    assert said(*pictures)["verdict"] == words


def test_it_says_how_it_came_and_what_to_do_next():
    assert "divided by that of its bias, is the image" in said(GOOD)["why"]
    assert "--images 8" in said(GOOD)["next"]
    harder = said(GONE, GONE, images=2)
    assert "the mean over 2 images, which the attacker has to take apart" in harder["why"]
    assert "--images 1" in harder["next"]
