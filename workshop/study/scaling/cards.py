"""Cards of a scaling study: speed-up and throughput over ranks, and a table with the columns of the comparison."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.analysis.balance import PHASES
from workshop.report.cards import Card, Part, figure, line, paragraph, table
from workshop.report.figures import theme
from workshop.report.figures.line import line as drawn
from workshop.report.figures.marks import Point
from workshop.study.cards import pick, point, rate_words, runs_card, verdict
from workshop.study.scaling.efficiency import PublishedSpeedUp, references, serial_share
from workshop.study.scaling.kind import ScalingReport

SYMBOLS = ("diamond-open", "square-open", "triangle-up-open", "pentagon-open")


def cards(report: ScalingReport) -> list[Card]:
    """Speed-up and throughput over ranks, each with the ideal; the figures, and the published ones beside them."""
    rows, picks = report.rows, [pick(row.cell, report.unit) for row in report.rows]
    start = next((row.base.ranks for row in rows if row.base), 1)
    gains = [
        Point(row.cell.label, tuple(row.against(rate) or 0.0 for rate in row.cell.rates), row.cell.status)
        for row in rows
    ]
    ranks, title = [row.ranks for row in rows], "speed-up" if start == 1 else f"speed-up over {start} ranks"
    speed = drawn(ranks, {"": gains}, "ranks", title, ideal="faster", mark=False)
    throughput = drawn(ranks, {"": [point(row.cell) for row in rows]}, "ranks", report.unit, ideal="faster", mark=False)
    return [
        verdict(report),
        Card("speed-up", "Speed-up", (figure(_with_published(speed, references(rows)), picks=picks),), half=True),
        Card("throughput", "Throughput", (figure(throughput, picks=picks),), half=True),
        Card("figures", "Figures", tuple(_figures(report))),
        runs_card(report),
    ]


def _with_published(figure: go.Figure, references: Sequence[PublishedSpeedUp]) -> go.Figure:
    """The figure with open marks for published results over their workers. They are large enough to be visible around a
    measured point at the same place."""
    for reference, symbol in zip(references if figure.data else (), SYMBOLS, strict=False):
        figure.add_scatter(
            x=[reference.workers],
            y=[reference.speed_up],
            name=reference.name,
            mode="markers",
            marker={"symbol": symbol, "size": 20, "color": theme.MUTED, "line": {"width": 1.5}},
            opacity=0.8,
            hovertemplate=f"{reference.speed_up:.2f}× on {reference.workers} {reference.worker}s"
            f"<extra>{reference.name}</extra>",
        )
    return figure


def _figures(report: ScalingReport) -> list[Part]:
    """A row for each number of ranks, the law that fits them, and what has been published."""
    heads = [
        "Ranks",
        f"Median {report.unit}",
        "Lowest to highest",
        "Speed-up",
        "Of ideal",
        *map(str.capitalize, PHASES),
    ]
    cells = []
    for row in report.rows:
        cell, gain = row.cell, row.speed_up
        spread = "–" if gain is None else f"{rate_words(cell.low)} to {rate_words(cell.high)}"
        shares = ["–" if share is None else words.percent(share) for share in (row.efficiency, *row.shown_shares)]
        cells.append(
            [str(row.ranks), rate_words(cell.median), spread, "–" if gain is None else f"{gain:.2f}×", *shares]
        )
    lines = []
    if (serial := serial_share(report.rows, report.weak)) is not None:
        law = "Gustafson" if report.weak else "Amdahl"
        most = f", so no number of ranks gets beyond {1 / serial:.1f}×" if serial > 0.005 and not report.weak else ""
        lines.append(line(f"A serial share of {words.percent(serial)} fits best{most}.", f"{law}'s law:", "about"))
    lines += [
        line(f"{published.figures}. {published.source}.", f"{published.name}:", "about")
        for published in references(report.rows)
    ]
    return [table(heads, cells), *([paragraph(*lines)] if lines else [])]
