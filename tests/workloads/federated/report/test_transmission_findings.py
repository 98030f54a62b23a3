"""What is said of what left institutions, from figures that are known."""

from __future__ import annotations

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.analysis.findings import facts
from workshop.report.verdict import verdict
from workshop.workloads.federated.report import findings
from workshop.workloads.federated.report.facts import FederationFacts

INSTITUTIONS = [{"images": images, "validation": 5} for images in (60, 120, 400)]


def told(**changes):
    """Five rounds of three institutions with plain updates of a thousand bytes."""
    plain = {
        "secure": "off",
        "compression": "none",
        "up": [],
        "down": [],
        "rounds": 5,
        "updates": 15,
        "bytes_updates": 15_000,
        "bytes_plain": 15_000,
        "silent": [0, 0, 0],
        "too_large": [0, 0, 0],
        "too_few": 0,
        "uncancelled": 0,
        "seeds": 0,
        "seconds_encoding": 0.05,
        "seen": None,
    }
    return plain | changes


def known(sent, score=0.9, **changes):
    metrics = {
        "sending": sent,
        "institutions": INSTITUTIONS,
        "by_way": {"federated": {"held_out_score": score}},
        "measure": "accuracy",
    }
    where = {"machine": machine(2), "rank_map": rank_map([0], [1])}
    made = run(workload="federated", params={"rate": 0.1}, metrics=metrics | changes, **where)
    return FederationFacts(facts(made, {}))


MASKS = told(secure="masks", bytes_updates=30_000)


def test_plain_updates_are_nothing_to_speak_of():
    assert findings.transmitted(known(told())) is None
    assert findings.broken(known(told())) is None


@pytest.mark.parametrize("metrics", [{}, {"sending": None}, {"sending": told(rounds=0)}, {"sending": "?"}])
def test_other_runs_and_those_that_have_not_sent_yet_have_none_of_it(metrics):
    there = FederationFacts(facts(run(workload="federated", metrics=metrics), {}))
    assert findings.transmitted(there) is findings.broken(there) is None


def test_masks_that_were_left_in_the_sum_are_named():
    found = findings.broken(known(told(secure="unequal", uncancelled=4), score=0.098))
    assert found.verdict == "The masks did not cancel, and the shared model is noise."
    assert "(they have from 60 to 400)" in found.why
    assert "That was so in 4 of 5 rounds; the model came to 9.8 % on held-out images." in found.why
    assert (
        "in 2 more no three updates were numbers"
        in findings.broken(known(told(secure="unequal", uncancelled=3, too_few=2))).why
    )
    assert "OpenFL 1.9" in found.why
    assert "--secure masks" in found.following


def test_the_wrong_way_that_went_well_is_explained():
    there = known(told(secure="unequal"))
    assert findings.broken(there) is None
    assert "because all weights were the same" in findings.transmitted(there).verdict


def test_what_masks_cost_and_hide():
    found = findings.transmitted(known(MASKS))
    assert found.verdict == "No single update could be read: masks hid each, and cancelled in the sum."
    assert "An update took 2 kB to send, where a plain one takes 1 kB" in found.why
    assert "took rank 0 10 ms in a round" in found.why
    assert "somebody's own" not in found.why
    assert "(--silent 1)" in found.following
    assert "--silent" not in findings.transmitted(known(MASKS | {"silent": [1, 0, 0]})).following
    assert "In 2 rounds fewer than three updates came" in findings.transmitted(known(MASKS | {"too_few": 2})).why


def test_updates_that_masks_can_not_hold_are_named():
    found = findings.broken(known(MASKS | {"too_large": [0, 3, 1]}))
    assert found.verdict == "Institutions 2 and 3 had updates too large to be masked."
    assert "4 updates had larger ones" in found.why
    assert "--rate 0.01" in found.following


def test_bytes_saved_stand_beside_what_was_reached():
    found = findings.transmitted(known(told(compression="topk", bytes_updates=300), score=0.87))
    assert found.verdict == "Compression sent 50 times fewer bytes for updates, and came to 87.0 % on held-out images."
    assert "300 bytes in all, where plain ones take 15 kB" in found.why
    assert "takes its place along" in found.why
    assert "--compression none" in found.following
    eight = findings.transmitted(known(told(compression="8bit", bytes_updates=3_900)))
    assert eight.verdict.startswith("Compression sent 3.8 times fewer bytes for updates")
    assert "its place" not in eight.why


@pytest.mark.parametrize(
    ("whole", "price"),
    [
        (0.875, ", as plain updates do (87.5 %)."),
        (0.95, ", 8.0 points less than with plain updates."),
        (0.8, "more than"),
    ],
)
def test_bytes_saved_stand_against_what_was_lost(whole, price):
    ways = {"federated": {"held_out_score": 0.87}, "whole": {"held_out_score": whole}}
    sent = told(compression="topk", bytes_updates=300)
    found = findings.transmitted(known(sent, by_way=ways, held_out_images=1000))
    assert found.verdict.startswith("Compression sent 50 times fewer bytes for updates, and came to 87.0 % on held-out")
    assert price in found.verdict
    assert "--keep" in found.following or "--compression topk" in found.following


def test_compression_that_saves_nothing_says_so():
    found = findings.transmitted(known(told(compression="topk", bytes_updates=29_000)))
    assert found.verdict == "Compression cost bytes in place of saving them."
    assert "--keep 0.1" in found.following


def test_while_the_run_goes_on_nothing_is_said_of_what_it_reached():
    found = findings.transmitted(known(told(compression="topk", bytes_updates=300), by_way={}))
    assert found.verdict == "Compression sent 50 times fewer bytes for updates."


def test_who_fell_silent_and_what_became_of_the_masks():
    silent = {"silent": [2, 0, 1], "updates": 12}
    found = findings.transmitted(known(told(**silent)))
    assert found.verdict == "Institutions 1 and 3 fell silent in some rounds."
    assert found.why.startswith("3 of 15 updates did not come")
    assert "averaged without them" in found.why
    hidden = findings.transmitted(known(MASKS | silent | {"seeds": 6}))
    assert hidden.verdict.startswith("No single update could be read")
    assert "revealed 6 seeds of masks" in hidden.why
    assert "came out exactly" in hidden.why
    wrong = findings.transmitted(known(told(secure="unequal", seeds=6, **silent)))
    assert "came out exactly" not in wrong.why


@pytest.mark.parametrize(
    ("size", "said"),
    [(15_000, "as many"), (300, "50 times fewer"), (60_000, "4 times as many"), (5_000, "3 times fewer")],
)
def test_how_bytes_compare(size, said):
    assert findings.saving(told(bytes_updates=size)) == said


def said(sent, **changes):
    """The whole verdict of a run in which every update of the last rounds was dropped, or none."""
    way = {"held_out_score": 0.9, "own_score": 0.9, "images_read": 4000, "held_out": [0.9] * 5}
    metrics = {"by_way": {"federated": way}, "ways": ["federated"], "rounds": 5, "loss": 0.1, "dropped": []}
    return verdict(known(sent, **(metrics | changes)).facts.run, {})


def test_the_mistake_stands_before_what_came_of_it():
    """Noise for a model makes updates that are no numbers, which would be named otherwise."""
    dropped = [{"round": 2, "institution": one} for one in (1, 2, 3)]
    assert "sent updates that are no numbers" in said(told(), dropped=dropped)["verdict"]
    found = said(told(secure="unequal", uncancelled=1, too_few=4), dropped=dropped)
    assert found["verdict"].startswith("The masks did not cancel")
    assert "are no numbers" not in found["verdict"]
    assert "because all weights were the same" not in found["why"]
    assert "goes well only where" not in found["why"]


def test_what_was_sent_stands_before_what_was_reached():
    found = said(told(compression="topk", bytes_updates=300))
    assert found["verdict"].startswith("Compression sent 50 times fewer bytes for updates")
    assert found["why"].count("updates were sent as") + found["why"].count("Updates were sent as") == 1
    assert "Federated learning came to 90.0 %" in found["why"]
    assert said(told())["verdict"].startswith("Federated learning came to 90.0 %")
