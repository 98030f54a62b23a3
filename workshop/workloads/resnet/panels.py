"""A benchmark's printed lines, beside the panels of any training run."""

from __future__ import annotations

from workshop.extension import OUTPUT, Panel
from workshop.report.cards import Card, code, line, words
from workshop.report.snapshot import Snapshot
from workshop.training import panels as training_panels
from workshop.workloads.resnet.verdict import CITED


def printed(snapshot: Snapshot) -> list[Card]:
    """The lines of the rounds, and the published rates."""
    if OUTPUT not in snapshot.artifacts:
        return []
    text = snapshot.read(OUTPUT).decode()
    return [Card("printed", "Rounds", (code(text), words(line(CITED, tone="about"))))]


PANELS = (
    Panel("printed", printed, lambda snapshot: snapshot.version(OUTPUT), comparison=printed),
    *training_panels.PANELS,
)
