"""The digits that an aggregator recovered: the pictures, and the outcome of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.words import count
from workshop.extension import Panel
from workshop.report.cards import Card, Part, line, picture, pictures, table, words
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.training import panels as training_panels
from workshop.workloads.inversion.verdict import GOOD, LOST, RECOVERED, TOLD_APART, outcome

PICTURE = "recovered.png"
ABOUT = (
    "Above, images that institutions have and never sent. Below, what the aggregator made of the updates that they did "
    "send; it knows the shared model, and nothing else of them."
)
MEANING = (
    "The correlation is that of pixels; beside it is that with the most similar of all other images. Recovered: most "
    f"similar to the true image, and a PSNR of {GOOD:.0f} dB at least. Told apart: most similar to it, but less so."
)
MANY = 32  # rows
OUTCOMES: Mapping[str, str] = {RECOVERED: "recovered", TOLD_APART: "told apart", LOST: "lost"}


def inversion(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs that attack no update."""
    if PICTURE not in snapshot.artifacts:
        return []
    label = "Recovered digits" if snapshot.run.ended else "So far"
    parts: list[Part] = [words(line(ABOUT, tone="about")), pictures([picture(snapshot.url(PICTURE), label)], wide=True)]
    if picture_list := snapshot.metric("pictures", list):
        parts += _table(snapshot, picture_list)
    return [Card("inversion", "What the updates gave away", tuple(parts))]


def _table(snapshot: Snapshot, pictures: list[Mapping[str, Any]]) -> list[Part]:
    several = any(picture["institution"] > 1 for picture in pictures)
    heads = ["Rank", *(["Institution"] if several else []), "True label", "Recovered label"]
    heads += ["PSNR", "Correlation", "With another image", "The digit is"]
    rows: list[list[str | Mapping[str, Any]]] = [
        [
            rank_cell(picture["rank"]),
            *([str(picture["institution"])] if several else []),
            str(picture["label"]),
            str(picture["read"]),
            f"{picture['likeness']:.1f} dB",
            f"{picture['correlation']:.3f}",
            f"{picture['other']:.3f}",
            OUTCOMES[outcome(picture)],
        ]
        for picture in pictures[:MANY]
    ]
    lines = [line(MEANING, tone="about")]
    if len(pictures) > MANY:
        lines.append(line(f"These are {MANY} of {count(len(pictures), 'image')}.", tone="about"))
    return [table(heads, rows), words(*lines)]


PANELS = (
    Panel(
        "inversion",
        inversion,
        lambda snapshot: (snapshot.version(PICTURE), snapshot.run.metrics),
        comparison=inversion,
    ),
    *training_panels.PANELS,
)
