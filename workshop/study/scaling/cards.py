"""Cards of a scaling study: speed-up, efficiency, throughput and time over ranks, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workshop.core import words as say
from workshop.report.analysis.balance import PHASES
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.figures.line import line as drawn
from workshop.report.figures.points import Point
from workshop.store.records import RunRecord
from workshop.study.cards import rate_words, runs_card, verdict
from workshop.study.scaling import figures as scaling
from workshop.study.scaling.kind import ScalingReport

# Parts of the metric `seconds` that a run's work takes, evaluations included: what a learner waits for.
WORK = ("train", "evaluate", "fit")
TIME = "Of the whole work, evaluations included. Throughput counts training steps alone."


def cards(report: ScalingReport) -> list[Card]:
    speed = scaling.speed_up(report.rows, report.references)
    shown = [
        verdict(report),
        Card("speed-up", "Speed-up", (figure(speed),), half=True),
        Card("efficiency", "Efficiency", (figure(scaling.efficiency(report.rows, height=360)),), half=True),
        Card("throughput", "Throughput", (figure(scaling.throughput(report.rows, report.unit)),), half=True),
    ]
    if (times := _times(report)) is not None:
        shown.append(Card("time", "Time", (words(line(TIME, tone="about")), times), half=True))
    shown.append(
        Card("shares", "Where the ranks' time went", (figure(scaling.shares(report.rows)),), half=times is None)
    )
    return [*shown, _figures(report), runs_card(report)]


def seconds(run: RunRecord) -> float | None:
    """What a run's work took; None where it didn't tell."""
    told = run.metrics.get("seconds")
    if run.status != "completed" or not isinstance(told, Mapping):
        return None
    parts = [value for name in WORK if isinstance(value := told.get(name), int | float)]
    return sum(parts) or None


def _times(report: ScalingReport) -> Part | None:
    """Seconds over ranks with the ideal, which is level where the work grows with them."""
    points = []
    for row in report.rows:
        of = [report.runs[run] for run in row.runs if run in report.runs]
        values = tuple(value for run in of if (value := seconds(run)) is not None)
        points.append(Point(say.count(row.ranks, "rank"), values, "failed" if row.failures and not row.rates else ""))
    if sum(bool(point.values) for point in points) < 2:
        return None
    ranks = [row.ranks for row in report.rows]
    ideal = "level" if report.weak else "shorter"
    return figure(drawn(ranks, {"": points}, "ranks", "seconds", ideal=ideal, mark=False))


def _published(report: ScalingReport) -> list[Part]:
    if not report.references:
        return []
    return [words(*(line(f"{one.figures}. {one.source}.", f"{one.name}:", "about") for one in report.references))]


def _figures(report: ScalingReport) -> Card:
    headings = ["Ranks", f"Median {report.unit}", "Lowest to highest", "Speed-up", "Of ideal"]
    rows: list[Sequence[str]] = []
    for row in report.rows:
        cells = ["–"] * 4
        if row.throughput is not None:
            cells = [
                rate_words(row.throughput),
                f"{rate_words(min(row.rates))} to {rate_words(max(row.rates))}",
                f"{row.speed_up or 0.0:.2f}x",
                say.percent(row.efficiency or 0.0),
            ]
        shares = ["–" if share is None else say.percent(share) for share in row.shown_shares.values()]
        rows.append([str(row.ranks), *cells, *shares])
    return Card("figures", "Figures", (table([*headings, *map(str.capitalize, PHASES)], rows), *_published(report)))
