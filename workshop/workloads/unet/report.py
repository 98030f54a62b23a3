"""The verdict on the training, with the published gain of a U-Net on two nodes, and the lesions of held-out patients as
the network outlines them, beside the panels of any training run."""

from __future__ import annotations

from dataclasses import replace

from workshop.core import words
from workshop.core.words import percent
from workshop.extension import Panel
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.cards import Card, line, table
from workshop.report.cards import words as sentences
from workshop.report.snapshot import Snapshot
from workshop.report.training import outcome as training_outcome
from workshop.report.training import panels as training_panels
from workshop.report.training import verdict as training
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.workloads.segmentation.panels import DICE, LEGEND, PICTURE, SYNTHETIC, newest_outlines

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


def overlays(snapshot: Snapshot) -> list[Card]:
    """The outlines after the newest epoch, as a picture and as a table."""
    if (outlines := newest_outlines(snapshot, "epoch")) is None:
        return []
    image, patients = outlines
    notes = sentences(line(LEGEND, tone="about"), line(f"{SYNTHETIC} {DICE}", tone="about"), line(CITED, tone="about"))
    rows = [[str(at), percent(patient["share"]), percent(patient["dice"])] for at, patient in enumerate(patients, 1)]
    heads = ["Patient", "Lesions' share of the image", "Dice"]
    return [Card("overlays", "Lesions as the network outlines them", (notes, image, table(heads, rows)))]


PANELS = (Panel("overlays", overlays, lambda snapshot: snapshot.version(PICTURE)), *training_panels.PANELS)
