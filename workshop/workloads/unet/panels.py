"""Lesions of held-out patients as the network outlines them, beside the panels of any training run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import count, percent
from workshop.extension import Panel
from workshop.report.cards import Card, line, picture, pictures, table, words
from workshop.report.snapshot import Snapshot
from workshop.training import panels as training_panels
from workshop.workloads.segmentation.panels import DICE, FIGURES, LEGEND, PICTURE, SYNTHETIC
from workshop.workloads.unet.verdict import CITED


def overlays(snapshot: Snapshot) -> list[Card]:
    """The outlines after the newest epoch, as a picture and as a table."""
    if PICTURE not in snapshot.artifacts or FIGURES not in snapshot.artifacts:
        return []
    document: Mapping[str, Any] = json.loads(snapshot.read(FIGURES))
    patients: Sequence[Mapping[str, Any]] = document["patients"]
    label = f"CT, PET and outlines of {count(len(patients), 'held-out patient')} after epoch {document['epoch']}"
    notes = words(line(LEGEND, tone="about"), line(f"{SYNTHETIC} {DICE}", tone="about"), line(CITED, tone="about"))
    rows = [[str(at), percent(patient["share"]), percent(patient["dice"])] for at, patient in enumerate(patients, 1)]
    image = pictures([picture(snapshot.url(PICTURE), label)], wide=True)
    heads = ["Patient", "Lesions' share of the image", "Dice"]
    return [Card("overlays", "Lesions as the network outlines them", (notes, image, table(heads, rows)))]


PANELS = (Panel("overlays", overlays, lambda snapshot: snapshot.version(PICTURE)), *training_panels.PANELS)
