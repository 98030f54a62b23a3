"""How a scaling study looks in a terminal of 80 columns."""

from __future__ import annotations

from rich.table import Table

from workshop.core import words
from workshop.report import terminal
from workshop.study.scaling.efficiency import Row
from workshop.study.scaling.kind import ScalingReport
from workshop.study.terminal import rate, show_report


def show(found: ScalingReport) -> None:
    """A scaling study: its rows, its verdict, and what others have published."""
    after = [
        f"Published: {one.what} {one.speed_up:.2f}x on {one.workers} {one.worker}s. {one.source}."
        for one in found.references
    ]
    if runs := sorted(run for row in found.rows for run in row.runs):
        after.append(f"Runs: {', '.join(map(str, runs))} (workshop runs show RUN)")
    show_report(found, _table(found.rows, found.unit), after=after)


def _table(rows: list[Row], unit: str) -> Table:
    failed = any(row.failures for row in rows)
    headings = ["ranks", unit, "lowest-highest", "speed-up", "of ideal", "compute", "comm.", "wait", "input"]
    headings += ["failed"] if failed else []
    table = terminal.table(headings, right=headings, gap=1, no_wrap=True)
    for row in rows:
        cells = [str(row.ranks), *_figures(row)]
        cells += ["-" if share is None else words.percent(share) for share in row.shown_shares.values()]
        table.add_row(*cells, *([str(len(row.failures) or "")] if failed else []))
    return table


def _figures(row: Row) -> list[str]:
    if row.throughput is None or row.speed_up is None or row.efficiency is None:
        return ["-", "-", "-", "-"]
    return [
        rate(row.throughput),
        f"{rate(min(row.rates))}-{rate(max(row.rates))}",
        f"{row.speed_up:.2f}x",
        words.percent(row.efficiency),
    ]
