"""Curves of what ranks told over the steps of a run: inertia, loss, anything that has a value per step.

Figures are drawn over steps. Where they know when the run began, each trace also carries the seconds of its points
(`meta.seconds`), so that whoever shows it can go over to wall time without asking again: see `by_time`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.report.figures import marks, theme
from workshop.store.records import Series

FEW_POINTS = 60  # points up to which each one is marked
HELD_OUT = theme.OTHER
HEIGHT = 320  # pixels of several runs in one plot
STEPS, SECONDS = "step", "seconds since its first event"
FROM_ZERO = ("/s", "spread", "drift")  # ends of names whose zero means something: standstill, all the same
NONE: Mapping[str, Sequence[Series]] = {}


def curve(
    series: Sequence[Series], held_out: Sequence[Series] = (), began: float | None = None, height: int = 300
) -> go.Figure:
    """One event name over its steps, a line per rank that told it, and as points what was measured on held-out data.

    Where a point of a line stands for several events, the line is their mean and a band shows the lowest and the
    highest. `began` is the time of the run's first event in seconds since the epoch.
    """
    if not any(values.steps for values in (*series, *held_out)):
        return theme.nothing_yet("Nothing told yet", height)
    traces: list[go.Scatter] = []
    for values in series:
        colour = theme.ACCENT if len(series) == 1 else theme.rank_colour(values.rank)
        if values.count > len(values.steps):
            place = {"x": values.steps, "meta": _seconds(values, began)}
            traces += marks.band(_short(values.lows, 4), _short(values.highs, 4), colour, 0.15, **place)
        name = f"rank {values.rank}" if len(series) > 1 else _with_newest("training", values) if held_out else "rank 0"
        traces.append(_line(values, name, colour, began))
    for values in held_out:
        several = len(held_out) > 1
        name = f"rank {values.rank}, held out" if several else _with_newest("held out", values)
        traces.append(_points(values, name, theme.rank_colour(values.rank) if several else HELD_OUT, began))
    legend = len(traces) > 1 and (len(series) > 1 or bool(held_out))
    return theme.figure(
        traces,
        height=height,
        showlegend=legend,
        xaxis=_x_axis([*series, *held_out]),
        yaxis=_values([*series, *held_out]),
        annotations=[] if legend else _last(series),
        margin={"t": 16 if legend else 28},
    )


def overlay(
    runs: Mapping[str, Sequence[Series]],
    held_out: Mapping[str, Sequence[Series]] = NONE,
    began: Mapping[str, float] | None = None,
) -> go.Figure:
    """One event name of several runs in one plot, a line per run (its lowest rank's), labelled by the mapping's key,
    and points for held-out data. `began` are the times of the runs' first events."""
    traces, drawn_series = [], []
    for number, label in enumerate({**runs, **held_out}):
        for of_runs, words, draw, looks in (
            (runs, label, _line, {"line_dash": ("solid", "dash")}),
            (held_out, f"{label}, held out", _points, {"marker_symbol": ("circle", "diamond")}),
        ):
            if candidates := of_runs.get(label):
                values = min(candidates, key=lambda values: values.rank)
                trace = draw(values, words, theme.rank_colour(number), (began or {}).get(label))
                traces.append(trace.update({look: choice[number > 0] for look, choice in looks.items()}))
                drawn_series.append(values)
    if not traces:
        return theme.nothing_yet("Neither run told any", HEIGHT)
    axes = {"xaxis": _x_axis(drawn_series), "yaxis": _values(drawn_series)}
    return theme.figure(traces, height=HEIGHT, showlegend=True, **axes)


def by_time(figure: go.Figure) -> go.Figure:
    """The same figure over seconds, or unchanged where it has no times."""
    if not figure.data or not all(trace.meta for trace in figure.data):
        return figure
    turned = go.Figure(figure)
    for trace in turned.data:
        trace.x = trace.meta["seconds"]
    turned.layout.xaxis.update(title={"text": SECONDS}, rangemode="tozero")
    return turned


def _x_axis(series: Sequence[Series]) -> dict[str, object]:
    """The axis of steps, from zero; where all that is shown began later, as a run does that goes on from another one,
    from there."""
    several = [values.steps for values in series if len(values.steps) > 1]
    later = bool(several) and all(steps[0] > 2 * (steps[1] - steps[0]) for steps in several)
    return {"title": {"text": STEPS}, "rangemode": "normal" if later else "tozero", "nticks": 8}


def _seconds(series: Series, began: float | None) -> dict[str, list[float]] | None:
    """The second x axis of a trace."""
    return None if began is None else {"seconds": [round(max(time - began, 0.0), 2) for time in series.times]}


def _line(series: Series, name: str, colour: str, began: float | None) -> go.Scatter:
    size = 7 if len(series.steps) <= FEW_POINTS else 0
    hover, meta = _hover(series, name), _seconds(series, began)
    return marks.line(series.steps, _short(series.means), colour, hover, size=size, name=name, meta=meta)


def _points(series: Series, name: str, colour: str, began: float | None) -> go.Scatter:
    hover, meta = _hover(series, name), _seconds(series, began)
    return marks.points(series.steps, _short(series.means), colour, hover, edge=2, name=name, meta=meta)


def _hover(series: Series, name: str) -> str:
    value = "%{y:.2%}" if _is_share(series) else "%{y:,.7~r}"
    return f"%{{xaxis.title.text}} %{{x:,.7~r}}<br>{value}<extra>{name.partition(' <b>')[0]}</extra>"


def _short(values: Sequence[float], digits: int = 7) -> list[float]:
    """More digits than a screen can show would double a message to forty viewers."""
    return [float(f"{value:.{digits}g}") for value in values]


def _with_newest(words: str, series: Series) -> str:
    newest = series.means[-1] if series.means else math.nan
    return f"{words} <b>{_newest(series)}</b>" if math.isfinite(newest) else words


def _newest(series: Series) -> str:
    return quantity(100 * series.means[-1], "%") if _is_share(series) else quantity(series.means[-1])


def _is_share(series: Series) -> bool:
    """Accuracies are read as percentages."""
    return series.name.endswith("accuracy")


def _last(series: Sequence[Series]) -> list[dict[str, object]]:
    """The newest value of a single line, above the end of the plot, where no line can run through it."""
    if len(series) != 1 or not series[0].steps or not math.isfinite(series[0].means[-1]):
        return []
    corner = {"xref": "paper", "yref": "paper", "xanchor": "right", "yanchor": "bottom"}
    return [theme.note(1, 1, f"last <b>{_newest(series[0])}</b>", 17, theme.ACCENT, **corner)]


def _values(series: Sequence[Series]) -> dict[str, object]:
    """The axis of values: percentages for shares, short forms such as 12k for large values, whole numbers for a few."""
    values = [value for line in series for value in line.means if math.isfinite(value)]
    if series and all(_is_share(line) for line in series):
        return {"nticks": 6, "tickformat": ".0%" if not values or max(values) - min(values) > 0.05 else ".1%"}
    from_zero = bool(series) and all(line.name.endswith(FROM_ZERO) for line in series)
    if values and not from_zero and all(value == round(value) for value in values) and max(values) - min(values) < 6:
        return {"dtick": 1, "tickformat": "d"}
    more = {"rangemode": "tozero"} if from_zero else {}
    return marks.values_axis("", max(map(abs, values), default=0.0), **more)
