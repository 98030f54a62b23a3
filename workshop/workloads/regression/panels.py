"""A fit beside the published ones."""

from __future__ import annotations

from workshop.core.words import size
from workshop.extension import Panel
from workshop.report.cards import Card, line, table, words
from workshop.report.snapshot import Snapshot
from workshop.workloads.regression.published import NODES, PUBLISHED, SOURCE, measured


def compared(snapshot: Snapshot) -> list[Card]:
    """This run's fit and the published ones, in a table; nothing before the run has ended."""
    fitted = measured(snapshot.run.metrics)
    if fitted is None:
        return []
    fits = [("this run", fitted), *((f"daal4py on {NODES} nodes", published) for published in PUBLISHED)]
    rows = [[name, fit.title, f"{size(fit.rate)}/s"] for name, fit in fits]
    cited = words(line(f"Published in: {SOURCE}.", tone="about"))
    return [Card("published", "Beside published fits", (table(["Fit", "Rows", "Rate"], rows), cited))]


PANELS = (Panel("published", compared, lambda snapshot: snapshot.run.metrics, comparison=compared),)
