"""Cards of a scaling study: speed-up, efficiency, throughput and time over ranks, and where the time went."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from workshop.core import words as say
from workshop.report.analysis.balance import PHASES
from workshop.report.cards import Card, about, figure, line, table, words
from workshop.report.figures import theme
from workshop.report.figures.line import Ideal
from workshop.report.figures.line import line as drawn
from workshop.report.figures.points import Point
from workshop.report.figures.times import stacked
from workshop.store.records import RunRecord
from workshop.study.cards import rate_words, runs_card, verdict
from workshop.study.scaling.efficiency import PublishedSpeedUp, Row
from workshop.study.scaling.kind import ScalingReport

SYMBOLS = ("diamond-open", "square-open", "triangle-up-open", "pentagon-open")
# Parts of the metric `seconds` that are a run's work, with evaluations: the time that a learner waits.
WORK = ("train", "evaluate", "fit")
TIME = "Of the whole work, evaluations included. Throughput counts training steps alone."


def cards(report: ScalingReport) -> list[Card]:
    """Speed-up, efficiency and throughput over ranks, each with the ideal; the time of the work; where it went."""
    base = next((row for row in report.rows if row.base is not None), None)
    start = base.base.ranks if base is not None and base.base is not None else 1
    title = "speed-up" if start == 1 else f"speed-up over {start} ranks"
    speed = _over_ranks(report, title, lambda row, rate: row.against(rate) or 0.0, "faster")
    efficiency = _over_ranks(report, "efficiency", lambda row, rate: (row.against(rate) or 0.0) / row.ideal, "level")
    throughput = _over_ranks(report, report.unit, lambda row, rate: rate, "faster")
    return [
        verdict(report),
        Card("speed-up", "Speed-up", (figure(_with_published(speed, report.references)),), half=True),
        Card("efficiency", "Efficiency", (figure(efficiency.update_yaxes(tickformat=".0%")),), half=True),
        Card("throughput", "Throughput", (figure(throughput),), half=True),
        *_times(report),
        Card("shares", "Where the ranks' time went", (figure(shares(report.rows)),), half=True),
        _figures(report),
        runs_card(report),
    ]


def _over_ranks(report: ScalingReport, unit: str, value_of: Callable[[Row, float], float], ideal: Ideal) -> go.Figure:
    """The median and the range of the repeats over ranks, with the ideal."""
    points = [
        Point(say.count(row.ranks, "rank"), tuple(value_of(row, rate) for rate in row.rates), _state(row))
        for row in report.rows
    ]
    return drawn([row.ranks for row in report.rows], {"": points}, "ranks", unit, ideal=ideal, mark=False)


def _state(row: Row) -> str:
    return "failed" if row.failures and not row.rates else ""


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


def shares(rows: Sequence[Row]) -> go.Figure:
    """The shares of phases in the ranks' time, a bar for each number of ranks."""
    measured = [row for row in rows if row.shares]
    if not measured:
        return theme.nothing_yet("No run has told how its ranks spent their time", 200)
    phases = {phase: [row.shares[phase] for row in measured] for phase in PHASES}
    return stacked(
        [say.count(row.ranks, "rank") for row in measured],
        {phase: values for phase, values in phases.items() if any(values)},
        lambda value: f"{100 * value:.0f} %" if value >= 0.1 else "",
        "%{x:.1%}",
        {"title": {"text": "share of the ranks' time"}, "tickformat": ".0%", "range": [0, 1], "nticks": 6},
        200,
    )


def seconds(run: RunRecord) -> float | None:
    """The seconds of a run's work; None if the run has no such metric."""
    seconds_by_part = run.metrics.get("seconds")
    if run.status != "completed" or not isinstance(seconds_by_part, Mapping):
        return None
    parts = [value for name in WORK if isinstance(value := seconds_by_part.get(name), int | float)]
    return sum(parts) or None


def _times(report: ScalingReport) -> list[Card]:
    """Seconds over ranks with the ideal, which is constant for weak scaling; nothing for fewer than two numbers of
    ranks."""
    points = []
    for row in report.rows:
        runs = [report.runs[run] for run in row.runs if run in report.runs]
        values = tuple(value for run in runs if (value := seconds(run)) is not None)
        points.append(Point(say.count(row.ranks, "rank"), values, _state(row)))
    if sum(bool(point.values) for point in points) < 2:
        return []
    ideal: Ideal = "level" if report.weak else "shorter"
    over = drawn([row.ranks for row in report.rows], {"": points}, "ranks", "seconds", ideal=ideal, mark=False)
    return [Card("time", "Time", (about(TIME), figure(over)), half=True)]


def _figures(report: ScalingReport) -> Card:
    headings = ["Ranks", f"Median {report.unit}", "Lowest to highest", "Speed-up", "Of ideal"]
    rows: list[Sequence[str]] = []
    for row in report.rows:
        cells = ["–"] * 4
        if row.throughput is not None:
            cells = [
                rate_words(row.throughput),
                f"{rate_words(min(row.rates))} to {rate_words(max(row.rates))}",
                f"{row.speed_up or 0.0:.2f}×",
                say.percent(row.efficiency or 0.0),
            ]
        shares = ["–" if share is None else say.percent(share) for share in row.shown_shares.values()]
        rows.append([str(row.ranks), *cells, *shares])
    parts = [table([*headings, *map(str.capitalize, PHASES)], rows)]
    if report.references:
        texts = ((f"{published.figures}. {published.source}.", f"{published.name}:") for published in report.references)
        parts.append(words(*(line(text, label, "about") for text, label in texts)))
    return Card("figures", "Figures", tuple(parts))
