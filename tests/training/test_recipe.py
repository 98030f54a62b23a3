"""Each step of the recipe that is left out has its finding, with what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, metrics, rank_map, times, trained
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
    "no exchange, for a step": (
        trained(2, APART | {"exchange": "none", "spread": 1e-7}, exchange="none"),
        "The ranks train different networks: they exchange nothing.",
        ["up to 1e-05 % from their mean"],
        "--exchange auto",
    ),
    "neither exchange nor broadcast": (
        trained(2, APART | {"exchange": "none"}, exchange="none", broadcast=False, scale="none"),
        "The ranks train different networks: they exchange nothing.",
        ["at the start 70 %"],
        "(--exchange auto) and broadcast (--broadcast yes)",
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
    "neither shards nor division": (
        trained(2, {"images_read": 2874, "distinct_images": 1437}, shard=False, divide=False),
        "Every rank reads the same images.",
        ["2,874 images, of which 1,437", "Also: an epoch had 23 steps"],
        "--shard yes",
    ),
    "no division": (
        trained(2, {"images_read": 2874, "updates": 184}, divide=False),
        "Every image is read 2 times in an epoch: its steps are not divided among the ranks.",
        [
            "23 steps, as on one rank alone; divided, it would have 12",
            "2,874 images, where there are 1,437, and took 178",
        ],
        "--divide yes",
    ),
    "no scaling": (
        trained(2, {"learning_rate": 0.02, "held_out_accuracy": 0.81}, scale="none"),
        "The learning rate is for one rank, the batch is not.",
        ["2 x 64 = 128 images", "the rate, 0.02,", "102 updates in 8 epochs, where one rank alone would have made 184"],
        "--scale linear",
    ),
    "no scaling for Adam": (
        trained(2, {"learning_rate": 0.001}, scale="none", optimizer="adam"),
        "The learning rate is for one rank, the batch is not.",
        [],
        "--scale sqrt",
    ),
    "no averaging": (
        trained(4, {"held_out_accuracy": 0.93, "held_out_accuracy_ranks": [0.93, 0.98, 0.96, 0.97]}, average=False),
        "The accuracy told is rank 0's alone.",
        ["Rank 0 came to 93.0 % on 90 of the 360 held-out images, the others to 96.0 % to 98.0 %", "of all is 96.0 %"],
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
    "everybody writes something else": (
        trained(
            2,
            APART | {"checkpoints": {"written": 16, "kept": 8, "bytes": 432, "differ": True}},
            checkpoint="every-rank",
            broadcast=False,
        ),
        "The ranks train different networks.",
        ["Also: 2 ranks wrote 16 checkpoints", "chance decides which network is kept"],
        "--broadcast yes",
    ),
    "a loss that is no number": (
        trained(4, {"loss": NAN, "held_out_loss": NAN, "learning_rate": 8.0}, rate=2.0),
        "The training diverged.",
        ["After 102 updates the loss was not a number", "was 8, 4 times that of one rank."],
        "smaller learning rate (--rate 0.2), or multiply it by the square root of the ranks only (--scale sqrt).",
    ),
    "a loss that is no number, without warm-up": (
        trained(4, {"loss": NAN, "learning_rate": 8.0}, rate=2.0, warmup=0),
        "The training diverged.",
        ["4 times that of one rank, without warm-up"],
        "Take a smaller learning rate (--rate 0.2); then let it grow over the first epochs (--warmup 2).",
    ),
    "a loss that is no number on one rank": (
        trained(1, {"held_out_loss": NAN, "learning_rate": 50.0}, rate=50.0, warmup=0),
        "The training diverged.",
        ["was 50."],
        "Take a smaller learning rate (--rate 5)",
    ),
    "a loss that grew beyond all bounds": (
        trained(2, {"loss": 4_400_000.0, "diverged": True, "learning_rate": 4.0}, rate=2.0, warmup=0),
        "The training diverged.",
        ["After 102 updates the loss had grown to 4.4e6; that of guessing is 2.3; training was ended."],
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


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({}, "chance decides how a run goes on from it"),
        ({"exchange": "parameter-server"}, "with a parameter server only rank 0 has"),
    ],
)
def test_checkpoints_of_equal_weights_may_differ_in_the_optimizers_state(told: dict[str, Any], words: str) -> None:
    kept = {"checkpoints": {"written": 2, "kept": 1, "bytes": 2_460_000, "differ": True}}
    said = verdict(trained(2, kept | told, checkpoint="every-rank"), EVEN)
    assert said["verdict"] == "Checkpoints overwrite each other."
    assert "1 of them, 1.23 MB, was overwritten" in said["why"]
    assert "not the state of the optimizer" in said["why"] and words in said["why"]
    assert "which network" not in said["why"]


@pytest.mark.parametrize("batch", [719, 1437])
def test_steps_that_one_batch_holds_need_no_division(batch: int) -> None:
    run = trained(2, {"images_read": 2874}, divide=False, batch=batch)
    undivided = "its steps are not divided" in verdict(run, EVEN)["verdict"]
    assert undivided == (batch == 719)


@pytest.mark.parametrize("off", [{"scale": "sqrt"}, {"warmup": 0}, {"checkpoint": "off"}, {}])
def test_what_is_a_choice_is_no_failure(off: dict[str, Any]) -> None:
    said = verdict(trained(2, {"checkpoints": None} if off.get("checkpoint") else {}, **off), EVEN)
    assert said["verdict"] == "Trained to 97.2 % in 1.4 s at 9,812 images/s."
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


def test_strong_scaling_divides_the_batch_and_leaves_the_rate() -> None:
    said = verdict(replace(trained(2, {"learning_rate": 0.02}, scale="none", batch=32), measured=True), EVEN)
    assert said["verdict"].startswith("Trained to")


def test_one_rank_needs_no_recipe() -> None:
    said = verdict(trained(1, {"held_out_accuracy_ranks": [0.972]}, **ALL_OFF), times([1.2], [0.0]))
    assert said["verdict"].startswith("Trained to 97.2 %")
    assert (
        "With one rank it makes no difference to leave out broadcast, shard, divide, average and scale." in said["why"]
    )


@pytest.mark.parametrize(
    ("off", "remark"),
    [
        ({"checkpoint": "every-rank"}, "With one rank it makes no difference who writes the checkpoint."),
        (
            {"checkpoint": "every-rank", "broadcast": False},
            "With one rank it makes no difference to leave out broadcast, nor who writes the checkpoint.",
        ),
    ],
)
def test_one_rank_writes_one_checkpoint(off: dict[str, Any], remark: str) -> None:
    assert remark in verdict(trained(1, **off), times([1.2], [0.0]))["why"]


def test_what_was_broken_comes_before_what_was_slow_and_what_was_reached() -> None:
    slow = {"rank_map": rank_map([0], [0], [1]), "machine": machine(2)}
    crowded = replace(trained(3, {"images_read": 1437, "distinct_images": 479}, shard=False), **slow)
    said = verdict(crowded, EVEN)
    assert said["verdict"] == "Every rank reads the same images."
    assert "Also: hardware thread 0 is shared by ranks 0 and 1" in said["why"]
    assert "Trained to 97.2 %" in said["why"]
    lost = verdict(trained(2, {"loss": NAN}), EVEN)
    assert "Trained to" not in lost["why"] and "Moving data" not in lost["why"]


def test_another_workload_has_no_recipe() -> None:
    said = verdict(replace(trained(2, **ALL_OFF), metrics={"inertia": NAN}), EVEN)
    assert said["verdict"] == "Well balanced."


odd_accuracy = st.none() | st.just(NAN) | st.floats(0, 1)


@given(
    missing=st.sets(st.sampled_from(sorted(set(metrics()) - {"exchange"}))),
    empty=st.sets(st.sampled_from(sorted(set(metrics()) - {"exchange"}))),
    told=st.fixed_dictionaries(
        {
            "exchange": st.sampled_from(["horovod", "mpi", "mpi-per-tensor", "parameter-server", "none"]),
            "updates": st.integers(0, 10**6),
            "epochs": st.integers(0, 1000),
            "loss": st.floats(),
            "spread": st.floats(0, 1e9) | st.just(NAN),
            "held_out_accuracy": odd_accuracy,
            "held_out_accuracy_ranks": st.lists(odd_accuracy, max_size=4),
            "images_read": st.integers(0, 10**6),
            "distinct_images": st.integers(0, 10**6),
            "measured_steps": st.integers(0, 100),
        }
    ),
    off=st.fixed_dictionaries(
        {
            **{name: st.booleans() for name in ("broadcast", "shard", "divide", "average")},
            "scale": st.sampled_from(["none", "linear", "sqrt"]),
            "checkpoint": st.sampled_from(["rank0", "every-rank", "off"]),
            "steps": st.none() | st.integers(1, 5),
        }
    ),
    ranks=st.integers(1, 4),
)
def test_every_training_run_has_a_verdict(
    missing: set[str], empty: set[str], told: dict[str, Any], off: dict[str, Any], ranks: int
) -> None:
    run = trained(ranks, told, **off)
    kept = {name: None if name in empty else value for name, value in run.metrics.items() if name not in missing}
    said = verdict(replace(run, metrics=kept), EVEN)
    assert set(said) == {"verdict", "why", "next"}
    assert all(isinstance(words, str) and words for words in said.values())


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
