"""A fit beside the published ones."""

from __future__ import annotations

from workshop.core.words import seconds, size
from workshop.extension import Panel
from workshop.report.cards import Card, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.regression.published import PUBLISHED, SOURCE, measured


def compared(snapshot: Snapshot) -> list[Card]:
    """This run's fit and the published ones, in a table; nothing before the run has ended."""
    fitted = measured(snapshot.run.metrics)
    if fitted is None:
        return []
    rows = [[fit.name, size(fit.size), seconds(fit.seconds), f"{size(fit.rate)}/s"] for fit in (fitted, *PUBLISHED)]
    cited = words(line(f"Published in: {SOURCE}.", tone="about"))
    return [Card("published", "Beside published fits", (table(["Fit", "Rows", "Seconds", "Rate"], rows), cited))]


PANELS = (Panel("published", compared, lambda snapshot: snapshot.run.metrics, comparison=compared),)
