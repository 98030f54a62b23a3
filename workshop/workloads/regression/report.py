"""The verdict on a regression, with how much it exchanged, and the panel that shows it beside published fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.extension import Panel
from workshop.report import cards
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.snapshot import Snapshot

AGREE = 1e-6  # largest relative difference from scikit-learn that counts as rounding
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


def outcome(facts: Facts) -> Finding | None:
    """The outcome of a regression; None without its metrics."""
    metrics = facts.metrics
    fitted = measured(metrics)
    if fitted is None or "bytes_exchanged" not in metrics:
        return None
    parts = [_exchanged(metrics), _verified(metrics), _published(fitted.rate)]
    return Finding(
        f"{words.quantity(metrics['rows_per_second'])} rows/s: {words.quantity(metrics['rows'])} rows "
        f"({words.size(fitted.size)}) fitted in {words.seconds(fitted.seconds)}.",
        " ".join(part for part in parts if part),
        f"Fit as many rows on {words.ranks(1 if facts.ranks > 1 else 2)}: do the bytes exchanged change?",
    )


def _exchanged(metrics: Mapping[str, Any]) -> str:
    if not metrics["bytes_exchanged"]:
        return ""  # daal4py doesn't tell what it exchanges
    return (
        f"A rank exchanged {words.size(metrics['bytes_exchanged'])} in a fit (2 messages), as many for any number of "
        f"rows; k-means with 10 clusters would exchange {words.size(metrics['bytes_kmeans'])} in each iteration."
    )


def _verified(metrics: Mapping[str, Any]) -> str:
    difference = metrics.get("difference")
    if difference is None:
        return ""
    same = "the same as scikit-learn's" if difference <= AGREE else "not the same as scikit-learn's"
    return f"Coefficients are {same} (relative difference {words.quantity(difference)})."


def _published(rate: float) -> str:
    rates = words.listed(f"{line.title} ({words.size(line.rate)}/s)" for line in PUBLISHED)
    return f"This is {words.size(rate)}/s; published for daal4py on {NODES} nodes: {rates} ({SOURCE})."


def compared(snapshot: Snapshot) -> list[cards.Card]:
    """This run's fit and the published ones, in a table; nothing before the run has ended."""
    fitted = measured(snapshot.run.metrics)
    if fitted is None:
        return []
    fits = [("this run", fitted), *((f"daal4py on {NODES} nodes", published) for published in PUBLISHED)]
    rows = [[name, fit.title, f"{words.size(fit.rate)}/s"] for name, fit in fits]
    cited = cards.words(cards.line(f"Published in: {SOURCE}.", tone="about"))
    return [cards.Card("published", "Beside published fits", (cards.table(["Fit", "Rows", "Rate"], rows), cited))]


PANELS = (Panel("published", compared, lambda snapshot: snapshot.run.metrics, comparison=compared),)
