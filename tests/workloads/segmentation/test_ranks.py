"""The workload on one and two real ranks: three ways to learn on a shift of scanners, and what there is to look at."""

from __future__ import annotations

import base64
import io
import json

import pytest
from PIL import Image

from tests.ranks import by_ranks, run_ranks
from tests.support import limit, starts_processes
from workshop.workloads.segmentation.overlays import FOOT, HEAD

pytestmark = [pytest.mark.real, pytest.mark.exhaustive, pytest.mark.timeout(limit(600))]

WAYS = ["federated", "centralised", "alone"]
SAME = 5e-3  # Dice; the same arithmetic in other processes, some 200 steps on


def at(ranks):
    return run_ranks("tests.workloads.segmentation.ranks_program", ranks, seconds=560)


@pytest.fixture(scope="module", params=by_ranks(1, 2))
@starts_processes
def found(request):
    return at(request.param) | {"ranks": request.param}


def picture(run):
    return Image.open(io.BytesIO(base64.b64decode(run["files"]["overlays.png"])))


def figures(run):
    return json.loads(base64.b64decode(run["files"]["overlays.json"]))


def test_together_institutions_outline_lesions_better_than_each_alone(found):
    by_way = found["all"]["metrics"]["by_way"]
    federated, pooled, alone = (by_way[way]["held_out_score"] for way in WAYS)
    assert federated > alone + 0.03
    assert federated > by_way["federated"]["held_out"][0] + 0.2, "it has learned"
    assert min(federated, pooled) > 0.4


def test_the_measure_is_dice_everywhere(found):
    metrics, events = found["all"]["metrics"], found["all"]["events"]
    assert metrics["measure"] == "Dice"
    assert metrics["held_out_dice"] == metrics["by_way"]["federated"]["held_out_score"]
    told = {name: value for name, step, value in events if step == 8}
    assert told["held-out Dice"] == metrics["held_out_dice"]
    assert told["alone own Dice"] == metrics["by_way"]["alone"]["own_score"]
    assert told["institution 2 global Dice"] == metrics["institutions"][1]["own_score"]["federated"]
    assert 0 < told["Dice"] < 1 and 0 < told["loss"] < 1
    assert metrics["parameters"] * 4 == metrics["bytes_model"]
    assert metrics["bytes_of_images"] == metrics["train_images"] * 32 * 32 * 2 * 2


def test_rank_0_keeps_a_picture_with_a_column_for_every_way(found):
    assert found["all"]["artifacts"] == [["overlays.json", "overlays.png"], *[[]] * (found["ranks"] - 1)]
    told = figures(found["all"])
    assert told["round"] == 8
    assert [set(one["dice"]) for one in told["patients"]] == [set(WAYS)] * 4
    assert [one["lesions"] > 0 for one in told["patients"]] == [True, True, True, False]
    width, height = picture(found["all"]).size
    assert height == HEAD + 4 * (192 + FOOT) and width > 5 * 192
    assert picture(found["ct alone"]).size[0] < picture(found["all"]).size[0]
    assert figures(found["ct alone"])["round"] == 5, "the last round, also between two looks"


def test_outlines_are_measured_in_three_ways_at_the_end(found):
    metrics = found["all"]["metrics"]
    assert 0 < metrics["held_out_deviation"] <= 0.5
    assert list(metrics["overlap"]) == ["federated", "centralised", "alone"]
    for way, told in metrics["overlap"].items():
        assert 0 <= told["jaccard"] <= told["dice"] <= 1 and 0 <= told["tversky"] <= 1
        if way != "alone":
            assert told["dice"] == pytest.approx(metrics["by_way"][way]["held_out_score"], abs=1e-5)


def test_one_channel_is_half_of_an_image(found):
    ct = found["ct alone"]["metrics"]
    assert ct["ways"] == ["alone"]
    assert ct["bytes_of_images"] == ct["train_images"] * 32 * 32 * 2
    assert {one["institution"] for one in figures(found["ct alone"])["patients"]} <= {1, 2, 3}


def test_several_ranks_learn_what_one_does():
    one, two = (at(ranks)["all"]["metrics"] for ranks in (1, 2))
    for way in WAYS:
        assert two["by_way"][way]["held_out"] == pytest.approx(one["by_way"][way]["held_out"], abs=SAME)
        assert two["by_way"][way]["images_read"] == one["by_way"][way]["images_read"]
    assert figures(at(2)["all"])["patients"][3]["lesions"] == 0
