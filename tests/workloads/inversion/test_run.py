"""The workload in a world of one, which is pytest's own process."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from PIL import Image

from tests.workloads.inversion.attacked import Institution, own, run
from workshop.core.errors import BadInput
from workshop.engine.context import Memory
from workshop.workloads.inversion import run as workload
from workshop.workloads.inversion import search
from workshop.workloads.inversion.watch import COLUMNS, MOST, ImagePair, draw_pairs

SHORT = {"iterations": 160, "starts": 1}


@pytest.fixture(scope="module")
def recovered():
    return run(SHORT)


def only(metrics):
    (picture,) = metrics["pictures"]
    return picture


def told(sink, name):
    return [(step, value) for _, event, step, value in sink.events if event == name]


def test_the_search_recovers_a_digit_of_the_cnn(recovered):
    metrics, _ = recovered
    assert only(metrics)["likeness"] > 30  # dB
    assert only(metrics)["nearest"]
    assert only(metrics)["correlation"] > 0.99 > only(metrics)["other"]
    assert (only(metrics)["label"], only(metrics)["read"], metrics["labels_right"]) == (5, 5, 1)
    assert metrics["distances"][0] < 1e-4
    assert metrics["signal_to_noise"] is None


def test_it_tells_how_far_it_is_while_it_searches(recovered):
    metrics, sink = recovered
    likeness, distance = told(sink, "likeness"), told(sink, "distance")
    assert [step for step, _ in likeness] == [step for step, _ in distance]
    assert [step for step, _ in likeness][:3] == [5, 10, 15]
    assert likeness[-1][1] == pytest.approx(metrics["likeness"])
    assert likeness[-1][1] > likeness[0][1] + 10
    assert distance[-1][1] < distance[0][1] / 100
    assert sink.done == (160, 160)
    assert sink.metrics["train_images"] == 1437


def test_the_picture_has_both_digits(recovered):
    _, sink = recovered
    media_type, data = sink.artifacts["recovered.png"]
    assert media_type == "image/png"
    picture = np.asarray(Image.open(io.BytesIO(data)))
    true, found = picture[4:88, 100:184], picture[96:180, 100:184]
    assert true.max() > 200
    assert np.abs(true.astype(int) - found).mean() < 10


def test_the_same_seed_is_the_same_attack(recovered):
    again, _ = run(SHORT)
    assert {**again, "seconds": None} == {**recovered[0], "seconds": None}


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        ({"protect": "clip-noise", "noise": 0.1}, True),
        ({"protect": "clip-noise", "noise": 0.001}, False),
        ({"protect": "topk", "keep": 0.002}, True),
        ({"protect": "8bit"}, False),
        ({"protect": "epochs"}, False),
    ],
)
def test_protections_change_what_is_seen(recovered, values, lost):
    metrics, _ = run(SHORT | values)
    assert metrics["distances"] != recovered[0]["distances"]
    assert only(metrics)["nearest"] is not lost
    if lost:
        assert only(metrics)["likeness"] < 15
    if values["protect"] != "epochs":
        assert math.isfinite(metrics["signal_to_noise"])


def test_more_images_are_harder_to_take_apart(recovered):
    metrics, _ = run(SHORT | {"images": 4})
    assert metrics["likeness"] < recovered[0]["likeness"] - 5
    assert metrics["images"] == 4


def test_a_dense_network_needs_no_search():
    metrics, sink = run({"model": "dense"})
    assert only(metrics)["likeness"] > 80
    assert [step for step, _ in told(sink, "likeness")] == [1]
    assert sink.done == (1, 1)


def test_it_ends_where_a_stop_is_asked_for():
    sink = Memory()
    sink.stop = True
    metrics, _ = run(SHORT, sink)
    assert metrics["stopped"]
    assert metrics["iterations"] == 5
    assert "recovered.png" in sink.artifacts


def test_an_update_that_is_no_number_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(workload, "updates", lambda *given: [np.full(101_770, np.nan, np.float32)])
    with pytest.raises(BadInput) as refused:
        run({"model": "dense", "protect": "epochs", "steps": 9, "rate": 50})
    assert str(refused.value) == (
        "The institution's update is no number any more after 9 steps of the rate 50; take a smaller rate or fewer "
        "steps."
    )


def test_what_is_searched_for_has_the_slope_that_it_tells():
    true = own(7)
    seen = Institution("cnn").seen(true)
    matching = search.GradientMatch(seen, true.labels, smooth=1e-2)
    random = np.random.RandomState(0)
    pixels, way = random.random_sample(matching.size), random.standard_normal(matching.size)
    step = 1e-2 / np.linalg.norm(way)
    _, slope = matching(pixels)
    risen = matching(pixels + step * way)[0] - matching(pixels - step * way)[0]
    assert risen / (2 * step) == pytest.approx(slope @ way, rel=0.02)
    assert matching(true.images.ravel())[0] > 0, "its variation"
    assert matching.distance < 1e-9, "the image itself makes the gradient that was seen"


@pytest.mark.parametrize("count", [1, COLUMNS + 1, MOST + 5])
def test_pictures_of_many_stand_in_several_rows(count):
    digit = np.zeros((28, 28), np.float32)
    picture = Image.open(io.BytesIO(draw_pairs([ImagePair(digit, digit, "5, read 5")] * count)))
    rows = math.ceil(min(count, MOST) / COLUMNS)
    one = Image.open(io.BytesIO(draw_pairs([ImagePair(digit, digit, "5, read 5")])))
    assert picture.size[1] == rows * one.size[1]
