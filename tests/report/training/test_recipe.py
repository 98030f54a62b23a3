"""Each step of the recipe that is left out has its finding, with what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.report.analysis.cases import machine, rank_map, times, trained
from workshop.report.verdict import verdict
from workshop.store.records import RunRecord

NAN = float("nan")
APART = {"weights": ["abc", "def"], "spread": 0.52}
ALL_OFF = {"broadcast": False, "shard": False, "divide": False, "average": False, "scale": "none"}
EVEN = times([1.2, 1.2], [0.15, 0.15], [0.03, 0.03])

BROKEN: dict[str, tuple[RunRecord, str, list[str], str]] = {
    "no broadcast": (
        trained(2, APART, broadcast=False),
        "The ranks train different networks.",
        ["2 ranks have 2 different sets of weights", "up to 52 % from their mean, at the start 70 %"],
        "--broadcast yes",
    ),
    "no exchange": (
        trained(2, APART | {"exchange": "none", "learning_rate": 0.04}, exchange="none"),
        "The ranks train different networks: they exchange nothing.",
        ["2 different sets", "52 %", "learning rate was scaled for the ranks, although"],
        "(--exchange auto).",
    ),
    "an exchange that reduces nothing": (
        trained(2, APART),
        "The ranks ended with different networks, although they exchange gradients.",
        ["With broadcast and exchange all should have the same weights"],
        "another exchange than horovod (--exchange mpi)",
    ),
    "no shards": (
        trained(2, {"images_read": 1438, "distinct_images": 719}, shard=False),
        "Every rank reads the same images.",
        ["read 1,438 images, of which 719 were different: each was read 2 times", "other 718 images were left out"],
        "--shard yes",
    ),
    "no division": (
        trained(2, {"images_read": 2874, "updates": 184}, divide=False),
        "Every image is read 2 times in an epoch: its steps are not divided among the ranks.",
        [
            "23 steps, as on one rank alone; divided, it would have 12",
            "2,874 images, where there are 1,437, and took 177 ms",
        ],
        "--divide yes",
    ),
    "no scaling": (
        trained(2, {"learning_rate": 0.02, "held_out_accuracy": 0.81}, scale="none"),
        "The learning rate is for one rank, the batch is not.",
        ["2 × 64 = 128 images", "the rate, 0.02,", "102 updates in 8 epochs, where one rank alone would have made 184"],
        "--scale linear",
    ),
    "no averaging": (
        trained(4, {"held_out_accuracy": 0.93, "held_out_accuracy_ranks": [0.93, 0.98, 0.96, 0.97]}, average=False),
        "The accuracy told is rank 0's alone.",
        ["Rank 0 came to 93 % on 90 of the 360 held-out images, the others to 96 % to 98 %", "of all is 96 %"],
        "--average yes",
    ),
    "everybody writes": (
        trained(
            2,
            {"checkpoints": {"written": 16, "kept": 8, "bytes": 16 * 2_700_000, "differ": False}},
            checkpoint="every-rank",
        ),
        "Checkpoints overwrite each other.",
        ["2 ranks wrote 16 checkpoints", "8 of them, 21.6 MB, were overwritten", "the same weights"],
        "--checkpoint rank0",
    ),
    "a loss that is no number": (
        trained(4, {"loss": NAN, "held_out_loss": NAN, "learning_rate": 8.0}, rate=2.0),
        "The training diverged.",
        ["After 102 updates the loss was not a number", "was 8, 4 times that of one rank."],
        "smaller learning rate (--rate 0.2), or multiply it by the square root of the ranks only (--scale sqrt).",
    ),
    "a loss that grew beyond all bounds": (
        trained(2, {"loss": 4_400_000.0, "diverged": True, "learning_rate": 4.0}, rate=2.0, warmup=0),
        "The training diverged.",
        ["After 102 updates the loss had grown to 4.4 M; that of guessing is 2.3; training was ended."],
        "Take a smaller learning rate (--rate 0.2); then let it grow over the first epochs (--warmup 2).",
    ),
    "everything at once": (
        trained(2, APART | {"images_read": 2874, "distinct_images": 1437, "learning_rate": 0.02}, **ALL_OFF),
        "The ranks train different networks.",
        [
            "Also: in an epoch the 2 ranks read 2,874 images",
            "And: Every image is read 2 times",
            "The learning rate is for",
        ],
        "--broadcast yes",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_each_step_left_out_breaks(case: str) -> None:
    run, expected, in_why, in_next = BROKEN[case]
    said = verdict(run, EVEN)
    assert said["verdict"] == expected
    for words in in_why:
        assert words in said["why"]
    assert in_next in said["next"]
    assert "nan" not in " ".join(said.values()).lower()


@pytest.mark.parametrize("off", [{"scale": "sqrt"}, {"warmup": 0}, {"checkpoint": "off"}, {}])
def test_what_is_a_choice_is_no_failure(off: dict[str, Any]) -> None:
    said = verdict(trained(2, {"checkpoints": None} if off.get("checkpoint") else {}, **off), EVEN)
    assert said["verdict"] == "Trained to 97.2 % in 1.42 s at 9,810 images/s."
    assert ("no checkpoint" in said["why"]) == (off.get("checkpoint") == "off")


@pytest.mark.parametrize(
    ("told", "off", "remark"),
    [
        ({}, {"broadcast": False}, "The broadcast was left out, but the ranks ended with the same weights."),
        ({}, {"shard": False}, "no image was read twice"),
        ({}, {"divide": False}, ""),
        ({"checkpoints": {"written": 8, "kept": 8, "bytes": 8, "differ": False}}, {"checkpoint": "every-rank"}, ""),
        ({}, {"average": False}, "rank 0's alone, which here are those of all ranks"),
    ],
)
def test_a_step_left_out_that_breaks_nothing_is_a_remark(told: Any, off: dict[str, Any], remark: str) -> None:
    said = verdict(trained(2, told, **off), EVEN)
    assert said["verdict"].startswith("Trained to") and remark in said["why"]


def test_one_rank_needs_no_recipe() -> None:
    said = verdict(trained(1, {"held_out_accuracy_ranks": [0.972]}, **ALL_OFF), times([1.2], [0.0]))
    assert said["verdict"].startswith("Trained to 97.2 %")
    assert (
        "With one rank it makes no difference to leave out broadcast, shard, divide, average and scale." in said["why"]
    )


def test_what_was_broken_comes_before_what_was_slow_and_what_was_reached() -> None:
    slow = {"rank_map": rank_map([0], [0], [1]), "machine": machine(2)}
    crowded = replace(trained(3, {"images_read": 1437, "distinct_images": 479}, shard=False), **slow)
    said = verdict(crowded, EVEN)
    assert said["verdict"] == "Every rank reads the same images."
    assert "Also: hardware thread 0 is shared by ranks 0 and 1" in said["why"]
    assert "Trained to 97.2 %" in said["why"]
    lost = verdict(trained(2, {"loss": NAN}), EVEN)
    assert "Trained to" not in lost["why"] and "Moving data" not in lost["why"]


@pytest.mark.parametrize(
    ("switch", "said"),
    [
        ("broadcast", "The ranks train different networks."),
        ("shard", "Every rank reads the same images."),
        ("divide", "The ranks do not share the work."),
        ("average", "The loss and accuracy shown are rank 0's alone."),
    ],
)
def test_a_run_that_goes_on_is_told_what_was_left_out(switch: str, said: str) -> None:
    told = {"exchange": "mpi", "data": "digits"}  # what is known before the first step
    going = replace(trained(2, {}, **{switch: False}), status="running", metrics=told)
    assert verdict(going, EVEN)["verdict"] == said
    assert f"--{switch} yes" in verdict(going, EVEN)["next"]
    whole = replace(going, params=going.params | {switch: True})
    assert verdict(whole, EVEN)["verdict"] == "Well balanced."
