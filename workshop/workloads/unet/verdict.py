"""The verdict on the training: its Dice score, and the published gain of a U-Net on two nodes."""

from __future__ import annotations

from dataclasses import replace

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.training import outcome as training_outcome
from workshop.training import verdict as training

GAIN = next(published for published in PUBLISHED if published.what == "U-Net")
CITED = GAIN.sentence


def outcome(facts: Facts) -> Finding | None:
    """How far and how fast it trained, on which images; None for a run that trained nothing."""
    finding = training_outcome.reached(facts, _following, "held_out_dice", "a held-out Dice score of ")
    if finding is None:
        return None
    pixels, empty = facts.metrics["lesion_pixels"], facts.metrics["empty_images"]
    without = f"; {words.percent(empty)} of the images have none" if empty else ""
    images = f"Of the training images' pixels {words.percent(pixels)} are lesions{without}."
    return replace(finding, why=f"{finding.why} {images} {CITED}")


def _following(facts: Facts) -> str:
    epochs = facts.run.params.get("epochs")
    if training_outcome.missed(facts) and isinstance(epochs, int):
        return f"Train for longer (--epochs {2 * epochs}), and see whether it comes to its target."
    if facts.ranks == 1:
        return f"Run it on two ranks (--ranks 2): how close to the published {GAIN.speed_up:.2f} is their speed-up?"
    return training_outcome.against_one(facts)


VERDICT = replace(training.VERDICT, outcome=outcome)
