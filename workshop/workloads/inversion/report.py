"""The facts of the verdict on an attack on updates, and the card with the recovered pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.cards import Card, line, picture, pictures, table
from workshop.report.cards import paragraph as sentences
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Panel, Snapshot
from workshop.report.training import panels as training_panels
from workshop.workloads.inversion import MOST_IMAGES

GOOD = 20.0  # dB of likeness from which a picture counts as recovered: errors of a tenth of the range of grey
RECOVERED, TOLD_APART, LOST = "recovered", "told apart", "lost"

Picture = Mapping[str, Any]
PICTURE = "recovered.png"
ABOUT = (
    "Above, images that institutions have and never sent. Below, what the aggregator made of the updates that they did "
    "send; it knows the shared model, and nothing else of them."
)
MEANING = (
    "The correlation is that of pixels; beside it is that with the most similar of all other images. Recovered: most "
    f"similar to the true image, and a PSNR of {GOOD:.0f} dB at least. Told apart: most similar to it, but less so."
)
MANY_ROWS = 32  # rows


def outcome(picture: Picture) -> str:
    """ "Recovered": most like the true image among all images, by at least 20 dB. "Told apart": only the former, so the
    owner of the images knows which one it was. "Lost": neither."""
    if not picture["nearest"]:
        return LOST
    return RECOVERED if picture["likeness"] >= GOOD else TOLD_APART


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """How many pictures were recovered, told apart and lost, and what these words rest on."""
    outcomes = [outcome(picture) for picture in facts.metrics.get("pictures") or ()]
    return {
        "recovered": outcomes.count(RECOVERED),
        "told_apart": outcomes.count(TOLD_APART),
        "lost": outcomes.count(LOST),
        "images": facts.run.params.get("images", 1),
        "good": GOOD,
        "most": MOST_IMAGES,
    }


def inversion(snapshot: Snapshot) -> list[Card]:
    """Nothing for runs that attack no update."""
    if PICTURE not in snapshot.artifacts:
        return []
    image = pictures([picture(snapshot.url(PICTURE), "Recovered digits")], wide=True)
    heads = ["Rank", "True label", "Recovered label", "PSNR", "Correlation", "With another image", "The digit is"]
    rows: list[list[str | Mapping[str, Any]]] = [
        [
            rank_cell(result["rank"]),
            str(result["label"]),
            str(result["read"]),
            f"{result['likeness']:.1f} dB",
            f"{result['correlation']:.3f}",
            f"{result['other']:.3f}",
            outcome(result),
        ]
        for result in (snapshot.metric("pictures", list) or [])[:MANY_ROWS]
    ]
    parts = sentences(line(ABOUT, tone="about")), image, table(heads, rows), sentences(line(MEANING, tone="about"))
    return [Card("inversion", "What the updates gave away", parts)]


PANELS = (
    Panel(
        "inversion",
        inversion,
        lambda snapshot: (snapshot.version(PICTURE), snapshot.run.metrics),
        comparison=inversion,
    ),
    *training_panels.PANELS,
)
