"""Lesions as a model outlines them, and how well its outlines overlap with the true ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core.words import count, percent
from workshop.report.cards import Card, Part, line, paragraph, picture, pictures, table
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.federated.report import panels as federated

PICTURE, FIGURES = "overlays.png", "overlays.json"  # the artifacts
SHORT = {"federated": "Federated", "centralised": "Pooled", "alone": "Institution 1 alone"}
LEGEND = "The true outline is blue; the model's is orange and dashed. On PET, what takes up much of the tracer is dark."
SYNTHETIC = (
    "These patients don't exist: a generator draws them. Some of what is dense on CT is harmless, and some of what is "
    "hot on PET is, too; only a lesion is both."
)
DICE = (
    "Dice is twice what both outlines share, as a part of both together: 100 % where they are the same, and where "
    "there is no lesion and none was found."
)
ONE_OF_TWO = {"ct": "The network sees CT alone.", "pet": "The network sees PET alone."}
ABOUT_MEASURES = (
    "The means over all held-out patients. Jaccard is what both outlines share as a part of what either covers; "
    "Tversky weighs pixels too many by its first number and missed ones by its second: 0.5 and 0.5 are Dice, 1 and 1 "
    "Jaccard."
)


def newest_outlines(snapshot: Snapshot, unit: str) -> tuple[Part, Sequence[Mapping[str, Any]]] | None:
    """The newest picture that a run has kept after a `unit`, such as a round, and its patients; None without one."""
    if PICTURE not in snapshot.artifacts or FIGURES not in snapshot.artifacts:
        return None
    document: Mapping[str, Any] = json.loads(snapshot.read(FIGURES))
    patients: Sequence[Mapping[str, Any]] = document["patients"]
    label = f"CT, PET and outlines of {count(len(patients), 'held-out patient')} after {unit} {document[unit]}"
    return pictures([picture(snapshot.url(PICTURE), label)], wide=True), patients


def overlays(snapshot: Snapshot) -> list[Card]:
    """The newest picture that the run has kept, with a table that says the same."""
    if (outlines := newest_outlines(snapshot, "round")) is None:
        return []
    image, patients = outlines
    modality_note = ONE_OF_TWO.get(str(snapshot.run.params.get("modality")))
    lines = [line(LEGEND, tone="about"), line(f"{SYNTHETIC} {DICE}", tone="about")]
    lines += [line(modality_note)] if modality_note else []
    ways = list(patients[0]["dice"]) if patients else []
    heads = ["Patient", "Scanners of", "Lesions", *(f"Dice: {SHORT.get(way, way)}" for way in ways)]
    rows = [
        [
            str(at),
            f"institution {patient['institution']}",
            str(patient["lesions"] or "none"),
            *(percent(patient["dice"][way]) for way in ways),
        ]
        for at, patient in enumerate(patients, 1)
    ]
    return [Card("overlays", "Lesions as the model outlines them", (paragraph(*lines), image, table(heads, rows)))]


def measures(snapshot: Snapshot) -> list[Card]:
    """The same outlines by three measures, once the run has ended."""
    ways = snapshot.metric("overlap", Mapping) or {}
    if not ways:
        return []
    params = snapshot.run.params
    weighed = f"Tversky ({params.get('alpha', 0):g}, {params.get('beta', 0):g})"
    rows = [
        [SHORT.get(way, way), *(percent(measures_of_way[name]) for name in ("dice", "jaccard", "tversky"))]
        for way, measures_of_way in ways.items()
    ]
    note = paragraph(line(ABOUT_MEASURES, tone="about"))
    return [Card("overlap", "Three measures of overlap", (note, table(["Way", "Dice", "Jaccard", weighed], rows)))]


PANELS = (
    Panel("overlays", overlays, lambda snapshot: snapshot.version(PICTURE)),
    *federated.PANELS,
    Panel("overlap", measures, lambda snapshot: snapshot.metric("overlap", Mapping), "learning"),
)
