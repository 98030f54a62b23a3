"""The facts of the verdict on a regression, and the panel that shows it beside published fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.report import cards
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts
from workshop.report.snapshot import Panel, Snapshot

SOURCE = "Distributed DL/ML Solutions for HPC systems"
NODES = 32


@dataclass(frozen=True)
class FitRate:
    """A fit of so many bytes of rows in so many seconds; `title` says both in words."""

    title: str
    size: float  # bytes
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.size / self.seconds


# daal4py on 32 nodes with 1,280 cores, in `SOURCE`.
PUBLISHED = (
    FitRate("68.66 GB in less than 48 ms", 68.66e9, 0.048),
    FitRate("2.15 TB in 1.18 s", 2.15e12, 1.18),
)


def measured(metrics: Mapping[str, Any]) -> FitRate | None:
    """The fit of a run; None where it has not ended with one."""
    size, seconds = metrics.get("bytes_data"), (metrics.get("seconds") or {}).get("fit")
    return FitRate(f"{words.size(size)} in {words.seconds(seconds)}", size, seconds) if size and seconds else None


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """The run's fit, and the published ones in words."""
    rates = words.listed(f"{line.title} ({words.size(line.rate)}/s)" for line in PUBLISHED)
    return {"fitted": measured(facts.metrics), "published": f"{NODES} nodes: {rates} ({SOURCE})"}


def compared(snapshot: Snapshot) -> list[cards.Card]:
    """This run's fit and the published ones, in a table; nothing before the run has ended."""
    fitted = measured(snapshot.run.metrics)
    if fitted is None:
        return []
    fits = [("this run", fitted), *((f"daal4py on {NODES} nodes", published) for published in PUBLISHED)]
    rows = [[name, fit.title, f"{words.size(fit.rate)}/s"] for name, fit in fits]
    cited = cards.paragraph(cards.line(f"Published in: {SOURCE}.", tone="about"))
    return [cards.Card("published", "Beside published fits", (cards.table(["Fit", "Rows", "Rate"], rows), cited))]


PANELS = (Panel("published", compared, lambda snapshot: snapshot.run.metrics, comparison=compared),)
