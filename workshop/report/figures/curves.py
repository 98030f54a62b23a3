"""Curves of what ranks told over the steps of a run: inertia, loss, anything that has a value per step.

Figures are drawn over steps. Where they know when the run began, each trace also carries the seconds of its points
(`meta.seconds`), so that whoever shows it can go over to wall time without asking again: see `by_time`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

import plotly.graph_objects as go

from workshop.report.figures import theme
from workshop.store.records import Series

FEW = 60  # points up to which each one is marked
HELD_OUT = theme.OTHER
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
    if not any(one.steps for one in (*series, *held_out)):
        return theme.nothing_yet("Nothing told yet", height)
    traces: list[go.Scatter] = []
    for one in series:
        colour = theme.ACCENT if len(series) == 1 else theme.rank_colour(one.rank)
        if one.count > len(one.steps):
            traces += _band(one, colour, began)
        name = f"rank {one.rank}" if len(series) > 1 else _with_newest("training", one) if held_out else "rank 0"
        traces.append(_line(one, name, colour, began))
    for one in held_out:
        several = len(held_out) > 1
        name = f"rank {one.rank}, held out" if several else _with_newest("held out", one)
        traces.append(_points(one, name, theme.rank_colour(one.rank) if several else HELD_OUT, began))
    legend = len(traces) > 1 and (len(series) > 1 or bool(held_out))
    return theme.figure(
        traces,
        height=height,
        showlegend=legend,
        xaxis=_x_axis([*series, *held_out]),
        yaxis=_values([*series, *held_out]),
        annotations=[] if legend else _last(series),
        margin={"t": 40 if legend else 28},
    )


def overlay(
    runs: Mapping[str, Sequence[Series]],
    held_out: Mapping[str, Sequence[Series]] = NONE,
    began: Mapping[str, float] | None = None,
    height: int = 320,
) -> go.Figure:
    """One event name of several runs in one plot, a line per run (its lowest rank's), labelled by the mapping's key,
    and points for held-out data. `began` are the times of the runs' first events."""
    traces, shown = [], []
    for number, label in enumerate({**runs, **held_out}):
        colour = theme.rank_colour(number)
        zero = (began or {}).get(label)
        if told := runs.get(label):
            one = min(told, key=lambda one: one.rank)
            line = _line(one, label, colour, zero)
            line.line.dash = "solid" if number == 0 else "dash"
            traces.append(line)
            shown.append(one)
        if told := held_out.get(label):
            one = min(told, key=lambda one: one.rank)
            points = _points(one, f"{label}, held out", colour, zero)
            points.marker.symbol = "circle" if number == 0 else "diamond"
            traces.append(points)
            shown.append(one)
    if not traces:
        return theme.nothing_yet("Neither run told any", height)
    return theme.figure(
        traces, height=height, showlegend=True, xaxis=_x_axis(shown), yaxis=_values(shown), margin={"t": 44}
    )


def by_time(figure: go.Figure) -> go.Figure:
    """The same figure over seconds, or unchanged where it has no times."""
    if not figure.data or not all(trace.meta for trace in figure.data):
        return figure
    turned = go.Figure(figure)
    for trace in turned.data:
        trace.x = trace.meta["seconds"]
    turned.layout.xaxis.update(title={"text": SECONDS}, rangemode="tozero")
    return turned


def _x_axis(shown: Sequence[Series]) -> dict[str, object]:
    """The axis of steps, from zero; where all that is shown began later, as a run does that goes on from another one,
    from there."""
    several = [one.steps for one in shown if len(one.steps) > 1]
    later = bool(several) and all(steps[0] > 2 * (steps[1] - steps[0]) for steps in several)
    return {"title": {"text": STEPS}, "rangemode": "normal" if later else "tozero", "nticks": 8}


def _over(one: Series, began: float | None) -> dict[str, object]:
    """Both x axes of a trace."""
    meta = None if began is None else {"seconds": [round(max(time - began, 0.0), 2) for time in one.times]}
    return {"x": one.steps, "meta": meta}


def _line(one: Series, name: str, colour: str, began: float | None) -> go.Scatter:
    return go.Scatter(
        **_over(one, began),
        y=_short(one.means),
        name=name,
        mode="lines+markers" if len(one.steps) <= FEW else "lines",
        line={"color": colour, "width": 3},
        marker={"size": 7},
        hovertemplate=_hover(one, name),
    )


def _points(one: Series, name: str, colour: str, began: float | None) -> go.Scatter:
    return go.Scatter(
        **_over(one, began),
        y=_short(one.means),
        name=name,
        mode="markers",
        marker={"size": 11, "color": colour, "line": {"width": 2, "color": theme.PAPER}},
        hovertemplate=_hover(one, name),
    )


def _hover(one: Series, name: str) -> str:
    value = "%{y:.2%}" if _is_share(one) else "%{y:.6g}"
    return f"%{{xaxis.title.text}} %{{x:.6g}}<br>{value}<extra>{name.partition(' <b>')[0]}</extra>"


def _band(one: Series, colour: str, began: float | None) -> list[go.Scatter]:
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **_over(one, began)}
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    fill = f"rgba({red},{green},{blue},0.15)"
    return [
        go.Scatter(y=_short(one.lows, 4), **edge),
        go.Scatter(y=_short(one.highs, 4), fill="tonexty", fillcolor=fill, **edge),
    ]


def _short(values: Sequence[float], digits: int = 7) -> list[float]:
    """More digits than a screen can show would double a message to forty viewers."""
    return [float(f"{value:.{digits}g}") for value in values]


def _with_newest(words: str, one: Series) -> str:
    newest = one.means[-1] if one.means else math.nan
    return f"{words} <b>{_newest(one)}</b>" if math.isfinite(newest) else words


def _newest(one: Series) -> str:
    return f"{100 * one.means[-1]:.1f} %" if _is_share(one) else number(one.means[-1])


def _is_share(one: Series) -> bool:
    """Accuracies are read as percentages."""
    return one.name.endswith("accuracy")


def _last(series: Sequence[Series]) -> list[dict[str, object]]:
    """The newest value of a single line, above the end of the plot, where no line can run through it."""
    if len(series) != 1 or not series[0].steps or not math.isfinite(series[0].means[-1]):
        return []
    place = {"xref": "paper", "yref": "paper", "x": 1, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    font = {"size": 17, "color": theme.ACCENT}
    return [{**place, "text": f"<b>{_newest(series[0])}</b>", "showarrow": False, "font": font}]


def number(value: float) -> str:
    """A value with four digits, and thousands and millions in the common letters: 1234567 is 1.235 M."""
    factor, letter = _unit(value)
    return f"{value / factor:.4g}{letter}"


def deviation(value: float, of: float) -> str:
    """A deviation with three digits, in the unit of its value: 4400 of 43920 is 4.4 k."""
    factor, letter = _unit(of)
    return f"{Decimal(f'{value / factor:.3g}'):f}{letter}"


def _unit(value: float) -> tuple[float, str]:
    """The factor and the letter, behind a space, with which a value is written."""
    for factor, letter in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= max(factor, 1e4):
            return factor, letter
    return 1.0, ""


def _values(series: Sequence[Series]) -> dict[str, object]:
    """The axis of values: percentages for shares, short forms such as 12k for large values, whole numbers for a few."""
    told = [value for one in series for value in one.means if math.isfinite(value)]
    if series and all(_is_share(one) for one in series):
        return {"nticks": 6, "tickformat": ".0%" if not told or max(told) - min(told) > 0.05 else ".1%"}
    largest = max(map(abs, told), default=0.0)
    if series and all(one.name.endswith(FROM_ZERO) for one in series):
        return {"nticks": 6, "tickformat": "~s" if largest >= 1e4 else "~g", "rangemode": "tozero"}
    if told and all(value == round(value) for value in told) and max(told) - min(told) < 6:
        return {"dtick": 1, "tickformat": "d"}
    return {"nticks": 6, "tickformat": "~s" if largest >= 1e4 else "~g"}
