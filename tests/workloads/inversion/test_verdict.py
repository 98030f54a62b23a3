"""What an attack on updates says of itself, from figures that are known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict
from workshop.workloads.inversion import WORKLOAD
from workshop.workloads.inversion.report import LOST, RECOVERED, TOLD_APART, outcome


def picture(likeness: float = 50.0, nearest: bool = True, **changes: Any) -> dict[str, Any]:
    told = {"rank": 0, "institution": 1, "label": 5, "read": 5, "correlation": 0.99, "other": 0.8}
    return {**told, "likeness": likeness, "nearest": nearest, **changes}


GOOD, POOR, GONE = picture(), picture(9.0), picture(5.0, nearest=False, correlation=0.1, other=0.3)


def said(*pictures: dict[str, Any], metrics: dict[str, Any] | None = None, **params: Any) -> dict[str, str]:
    told = {
        "pictures": list(pictures),
        "train_images": 1437,
        "labels_right": len(pictures),
        "signal_to_noise": None,
        "distances": [3e-8],
        "images_behind": params.get("images", 1),
        "model": "cnn",
        "stopped": False,
        **(metrics or {}),
    }
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
        ([GOOD], "The digit was recovered."),
        ([GOOD, GOOD], "Both digits were recovered."),
        ([GOOD, GOOD, GOOD], "All 3 digits were recovered."),
        ([GOOD, POOR, GONE], "1 of 3 digits was recovered."),
        ([POOR], "The digit was not recovered, but it can still be told from all other images."),
        ([POOR, POOR, GONE], "None of 3 digits was recovered, but 2 of them can still be told from all other images."),
        ([GONE], "The digit was not recovered."),
        ([GONE, GONE], "None of 2 digits was recovered."),
    ],
)
def test_how_many_were_recovered(pictures, words):
    assert said(*pictures)["verdict"] == words


def test_the_criterion_is_stated_with_its_figures():
    why = said(GOOD)["why"]
    assert "The picture has a PSNR of 50 dB, and 20 dB count as recovered" in why
    assert (
        "of 1,437 images it is most like the true one (correlation 0.99 with the true image, 0.80 with the best" in why
    )
    assert "Its label was read off the last layer's gradient." in why
    assert "to a cosine distance of 3e-8" in why
    several = said(GOOD, POOR, GONE, metrics={"labels_right": 2})["why"]
    assert "PSNR of 5.0 dB to 50 dB" in several
    assert "2 of 3 are more like the true image than like any other of 1,437" in several
    assert "2 of 3 labels were read" in several
    assert "most like another one" in said(GONE)["why"]


def test_a_dense_layer_is_explained_otherwise():
    assert "divided by that of its bias, is the image" in said(GOOD, metrics={"model": "dense"}, model="dense")["why"]


def test_what_noise_costs_is_told_in_lengths():
    told = said(GONE, metrics={"signal_to_noise": -12.0}, protect="clip-noise", noise=0.03)
    assert "4 times as long as the update" in told["why"]
    assert "signal-to-noise ratio -12 dB" in told["why"]
    assert "--noise 0.003" in told["next"]
    assert "--noise 0.09" in said(GOOD, metrics={"signal_to_noise": 20.0}, protect="clip-noise")["next"]


def test_compression_is_no_protection_where_the_digit_was_seen():
    seen = said(GOOD, metrics={"signal_to_noise": 38.0}, protect="8bit")
    assert (
        "Eight bits for each value tell the update with a signal-to-noise ratio of 38 dB: compression is no"
        in (seen["why"])
    )
    lost = said(GONE, metrics={"signal_to_noise": 0.5}, protect="topk", keep=0.001)
    assert "0.1 % of the values tell the update with a signal-to-noise ratio of 0.5 dB." in lost["why"]
    assert "--keep 0.01" in lost["next"]
    assert "--keep 0.0001" in said(GOOD, metrics={"signal_to_noise": 0.5}, protect="topk", keep=0.001)["next"]


def test_a_sum_hides_whose_it_is_or_what():
    seen = said(GOOD, GONE, metrics={"images_behind": 2}, protect="sum", institutions=2)
    assert "hides whose a digit is, but not what was drawn" in seen["why"]
    assert "--institutions 8" in seen["next"]
    most = said(GOOD, GONE, protect="sum", institutions=8, images=8)["next"]
    assert most.startswith("Add noise") and "--institutions" not in most, "there can't be more"
    assert "a mixture of what 2 institutions" in said(GONE, GONE, protect="sum", institutions=2)["why"]


def test_several_steps_are_no_single_gradient():
    assert "After 20 steps the update is no single gradient" in said(GONE, protect="epochs", steps=20)["why"]
    assert "still points where the first gradient did" in said(GOOD, protect="epochs")["why"]


def test_what_to_do_next_without_protection():
    assert "--protect clip-noise" in said(GOOD)["next"]
    assert "--protect sum" in said(GOOD)["next"]
    assert "--iterations 800" in said(GONE)["next"]
    assert "--images 4" in said(GONE, model="dense", images=8)["next"], "nothing is searched for there"
    assert "come to its end" in said(GONE, metrics={"stopped": True})["next"]
    harder = said(GOOD, GONE, images=2)
    assert "the mean over 2 images, which the attacker has to take apart" in harder["why"]


def test_of_one_that_goes_on_nothing_is_said():
    assert "digit" not in said(metrics={"pictures": None})["verdict"]
