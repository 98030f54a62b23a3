"""What an aggregator recovered of institutions' digits: the pictures, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core.words import count
from workshop.extension import Panel
from workshop.report.cards import Card, Part, line, picture, pictures, table, words
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Snapshot
from workshop.workloads.inversion.verdict import GOOD, LOST, RECOVERED, TOLD_APART, outcome

PICTURE = "recovered.png"
ABOUT = (
    "Above, images that institutions have and never sent. Below, what the aggregator made of the updates that they did "
    "send; it knows the shared model, and nothing else of them."
)
MEANT = (
    "The correlation is that of pixels; beside it is that with the most similar of all other images. Recovered: most "
    f"similar to the true image, and a PSNR of {GOOD:.0f} dB at least. Told apart: most similar to it, but less so."
)
MANY = 32  # rows
SAID: Mapping[str, str] = {RECOVERED: "recovered", TOLD_APART: "told apart", LOST: "lost"}


def inversion(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs that attack no update."""
    if PICTURE not in snapshot.artifacts:
        return []
    label = "Recovered digits" if snapshot.run.ended else "So far"
    parts: list[Part] = [words(line(ABOUT, tone="about")), pictures([picture(snapshot.url(PICTURE), label)], wide=True)]
    if told := snapshot.metric("pictures", list):
        parts += _table(snapshot, told)
    return [Card("inversion", "What the updates gave away", tuple(parts))]


def _table(snapshot: Snapshot, told: list[Mapping[str, Any]]) -> list[Part]:
    several = any(one["institution"] > 1 for one in told)
    heads = ["Rank", *(["Institution"] if several else []), "True label", "Recovered label"]
    heads += ["PSNR", "Correlation", "With another image", "The digit is"]
    rows = [
        [
            rank_cell(one["rank"]),
            *([str(one["institution"])] if several else []),
            str(one["label"]),
            str(one["read"]),
            f"{one['likeness']:.1f} dB",
            f"{one['correlation']:.3f}",
            f"{one['other']:.3f}",
            SAID[outcome(one)],
        ]
        for one in told[:MANY]
    ]
    said = [line(MEANT, tone="about")]
    if len(told) > MANY:
        said.append(line(f"These are {MANY} of {count(len(told), 'image')}.", tone="about"))
    return [table(heads, rows), words(*said)]


PANELS = (
    Panel(
        "inversion",
        inversion,
        lambda snapshot: (snapshot.version(PICTURE), snapshot.run.metrics),
        beside=inversion,
    ),
)
