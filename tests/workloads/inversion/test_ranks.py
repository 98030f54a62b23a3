"""Attacks on two real ranks."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from tests.ranks import run_ranks
from tests.support import starts_processes

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
@starts_processes
def found():
    return run_ranks("tests.workloads.inversion.ranks_program", 2, seconds=280)


def test_every_rank_attacks_a_digit_of_its_own(found):
    for name in ("cnn", "dense"):
        pictures = found[name]["metrics"][0]["pictures"]
        assert [(one["rank"], one["label"], one["read"]) for one in pictures] == [(0, 5, 5), (1, 6, 6)]
        assert all(one["nearest"] for one in pictures)
        assert all(one["likeness"] > 25 for one in pictures)


def test_all_ranks_know_what_came_of_all(found):
    for case in found.values():
        first, second = ({**metrics, "seconds": None} for metrics in case["metrics"])
        assert first == second


def test_only_rank_0_keeps_the_picture_of_all(found):
    kept, others = found["cnn"]["artifacts"]
    assert others == {}
    picture = Image.open(io.BytesIO(base64.b64decode(kept["recovered.png"])))
    narrow = Image.open(io.BytesIO(base64.b64decode(found["dense"]["artifacts"][0]["recovered.png"])))
    assert picture.size == narrow.size
    wide = Image.open(io.BytesIO(base64.b64decode(found["sum"]["artifacts"][0]["recovered.png"])))
    assert wide.size[0] > picture.size[0], "three institutions on each rank"


def test_every_rank_tells_of_its_own_search(found):
    for told in found["cnn"]["told"]:
        for name in ("distance", "likeness", "correlation", "time.compute", "time.wait"):
            steps = [step for event, step in told if event == name]
            assert steps == sorted(steps)
            assert len(steps) > 5
            assert steps[0] == 5


def test_a_sum_has_images_of_all_institutions(found):
    pictures = found["sum"]["metrics"][0]["pictures"]
    assert [(one["rank"], one["institution"]) for one in pictures] == [(r, i) for r in (0, 1) for i in (1, 2, 3)]


def test_all_end_together_where_one_is_asked_to_stop(found):
    for metrics in found["stopped"]["metrics"]:
        assert metrics["stopped"]
        assert metrics["iterations"] == 5
    assert not found["cnn"]["metrics"][0]["stopped"]
