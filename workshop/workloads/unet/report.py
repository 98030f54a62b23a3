"""The published gain of a U-Net on two nodes, for the verdict, and the lesions of held-out patients as
the network outlines them, beside the panels of any training run."""

from __future__ import annotations

from typing import Any

from workshop.core.words import percent
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.cards import Card, line, table
from workshop.report.cards import paragraph as sentences
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training import panels as training_panels
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.workloads.segmentation.panels import DICE, LEGEND, PICTURE, SYNTHETIC, newest_outlines

GAIN = next(published for published in PUBLISHED if published.what == "U-Net")
CITED = GAIN.sentence


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The published gain."""
    return {"gain": GAIN.speed_up, "cited": CITED}


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
