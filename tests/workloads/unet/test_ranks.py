"""The training on two real ranks: one network on all of them, that of one process, and what there is to look at."""

from __future__ import annotations

import base64
import io
import json

import pytest
from PIL import Image

from tests.ranks import run_ranks
from tests.support import need, starts_processes
from tests.workloads.unet.ranks_program import EPOCH, SMALL, WAYS, WHOLE
from workshop.mpi import horovod

pytestmark = pytest.mark.real

ROUNDED = 0.02  # relative to the update; Adam divides by gradients' sizes, also by tiny ones


@pytest.fixture(scope="module")
@starts_processes
def program():
    need(horovod.built(), "Horovod is not built here")
    return run_ranks("tests.workloads.unet.ranks_program", 2)


@pytest.mark.parametrize("exchange", [way for way in WAYS if way != "none"])
def test_two_ranks_train_like_one_process_with_all_images(program, exchange):
    result = program["epochs"][exchange]
    assert result["steps"] == 3, f"the larger share of {EPOCH['patients']} images in batches of two"
    assert len(set(result["weights"])) == 1
    assert result["difference"] < ROUNDED


def test_without_an_exchange_ranks_have_networks_of_their_own(program):
    result = program["epochs"]["none"]
    assert len(set(result["weights"])) == 2
    assert result["difference"] > ROUNDED


def test_it_learns_to_outline_lesions(program):
    metrics, events = program["whole"]["metrics"], program["whole"]["events"]
    dice = [value for name, _, value in events if name == "held-out Dice"]
    assert len(dice) == metrics["epochs"] == WHOLE["epochs"]
    assert dice[-1] == metrics["held_out_dice"] > dice[0] + 0.1
    assert metrics["held_out_jaccard"] < metrics["held_out_dice"]
    reached = next(epoch for epoch, value in enumerate(dice, 1) if value >= WHOLE["target"])
    assert metrics["epochs_to_target"] == reached
    assert 0 < metrics["time_to_target"] <= metrics["seconds"]["train"]


def test_all_ranks_hold_one_network(program):
    for name in ("whole", "switched"):
        metrics = program[name]["metrics"]
        assert len(metrics["weights"]) == 2 and len(set(metrics["weights"])) == 1
        assert metrics["spread"] == 0 and not metrics["diverged"]
    assert program["whole"]["metrics"]["exchange"] == "horovod"


def test_conditions_are_known_before_the_first_step(program):
    known = program["switched"]["known"]
    assert known["model"] == "U-Net of depth 3, from 8 channels on, with attention gates and dropout"
    assert known["shards"] == [4, 4] and known["train_images"] == 8
    assert "dense images of 32 × 32 pixels" in known["data"]
    assert known["empty_images"] == 0 < known["lesion_pixels"] < 0.5


def test_outlines_of_held_out_patients_are_kept(program):
    files = {name: base64.b64decode(data) for name, data in program["whole"]["artifacts"].items()}
    document = json.loads(files["overlays.json"])
    assert document["epoch"] == WHOLE["epochs"]
    assert len(document["patients"]) == 3, f"rank 0's share of {SMALL['evaluate_images']} held-out patients"
    assert all(patient["share"] > 0 for patient in document["patients"])
    picture = Image.open(io.BytesIO(files["overlays.png"]))
    assert picture.width > picture.height / 2 > 200
    assert "timeline.json" in files
