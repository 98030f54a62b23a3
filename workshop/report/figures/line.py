"""Lines: what came out of each value of a setting, memory over time, and curves of what ranks told over their steps.

Each trace of a curve also carries the seconds of its points (`meta.seconds`), see `by_time`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from workshop.core.words import quantity, size
from workshop.report.figures import marks, theme
from workshop.report.figures.marks import BEST, CHOSEN, NOTHING, UNDONE, Point, as_axis, best, interval, safe
from workshop.store.records import Series

Ideal = Literal["", "faster", "shorter"]
HEIGHT = 360  # pixels
NO_MEMORY = "No rank has told yet how much memory it holds"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")


def line(
    along: Sequence[Any],
    lines: Mapping[str, Sequence[Point]],
    axis: str,
    unit: str,
    *,
    ideal: Ideal = "",
    mark: bool = True,
) -> go.Figure:
    """Medians over a setting with whiskers from the lowest to the highest repeat, the best one marked (`mark`).
    `lines` have a point for each value `along`. `ideal` draws what the first line would reach if it went on as it
    began: "faster" in proportion to the setting, "shorter" in inverse proportion."""
    every = [point for points in lines.values() for point in points]
    if not any(point.values for point in every):
        return theme.nothing_yet(NOTHING, HEIGHT)
    x = as_axis(along)
    along = [safe(str(value)) for value in along] if x["type"] == "category" else list(along)
    traces = [_ideal(along, next(iter(lines.values())), ideal)] if ideal and x["type"] != "category" else []
    first = 0
    for place, (name, points) in enumerate(lines.items()):
        traces.append(_line(along, points, name, place, first, unit, len(lines)))
        first += len(points)
    top = best(every)
    if mark and top is not None:
        across = [value for points in lines.values() for value, _ in zip(along, points, strict=True)]
        traces.append(_best(across[top], every[top], unit, top))
    marked = [
        theme.note(
            place if x["type"] == "category" else math.log10(value) if x["type"] == "log" else value,
            0,
            state,
            colour=UNDONE[state],
            yref="paper",
            yanchor="bottom",
        )
        for points in lines.values()
        for place, value in enumerate(along)
        if (state := points[place].state) in UNDONE and not points[place].values
    ]
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=len(traces) > 1,
        hovermode="closest",
        xaxis={"title": {"text": axis}, **x, **_room(along, x["type"])},
        yaxis=_values(every, traces, unit, powers=bool(ideal) and x["type"] == "log"),
        annotations=list({(note["x"], note["text"]): note for note in marked}.values()),
    )


def _line(
    along: Sequence[Any], points: Sequence[Point], name: str, place: int, first: int, unit: str, lines: int
) -> go.Scatter:
    places = [at for at, point in enumerate(points) if point.values]
    measured = [points[at] for at in places]
    colour = theme.ACCENT if lines == 1 else theme.rank_colour(place)
    return marks.line(
        [along[at] for at in places],
        [point.value for point in measured],
        colour,
        [point.words(unit) for point in measured],
        size=11,
        symbol=SYMBOLS[place % len(SYMBOLS)],
        line={"dash": DASHES[place % len(DASHES)]},
        name=name or "measured here",
        error_y=interval(measured, colour),
        customdata=[first + at for at in places],
        **CHOSEN,
    )


def _best(x: Any, point: Point, unit: str, place: int) -> go.Scatter:
    """A ring around the best, which a legend explains."""
    name = f"best: <b>{quantity(point.value or 0.0)}</b> {unit} at {x}"
    ring = {"symbol": "circle-open", "size": 22, "line": {"width": 4}}
    texts = [point.words(unit)]
    return marks.points([x], [point.value], BEST, texts, marker=ring, name=name, customdata=[place], **CHOSEN)


def _ideal(along: Sequence[float], points: Sequence[Point], ideal: Ideal) -> go.Scatter:
    start, value = next(((at, point.value) for at, point in zip(along, points, strict=True) if point.value), (1.0, 0.0))
    power = 1 if ideal == "faster" else -1
    ahead = [at for at in along if at >= start]
    heights = [(value or 0.0) * (at / start) ** power if start else value for at in ahead]
    hover = "ideal: %{y:,.7~r}<extra></extra>"
    return marks.line(ahead, heights, theme.MUTED, hover, line=theme.IDEAL, name="ideal")


def _room(along: Sequence[Any], kind: str) -> dict[str, Any]:
    """An axis that ends a little beyond the outer points, so that their marks aren't cut off."""
    if kind == "category":
        return {"range": [-0.4, len(along) - 0.6]}
    low, high = (math.log10(value) if kind == "log" else value for value in (min(along), max(along)))
    span = 0.06 * (high - low or 1.0)
    return {"range": [low - span, high + span]}


def _values(points: Sequence[Point], traces: Sequence[go.Scatter], unit: str, powers: bool) -> dict[str, Any]:
    """From zero, so that heights are in proportion; in `powers`, where only so the ideal is a straight line."""
    top = max(max(values) for values in [*(point.values for point in points), *(trace.y for trace in traces)] if values)
    if powers:
        least = min(min(point.values) for point in points if point.values)
        return marks.values_axis(unit, top, type="log", dtick="D2" if top < 50 * least else 1)
    return marks.values_axis(unit, top, range=[0, 1.12 * top or 1.0])


def memory(lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], axis: str = "seconds") -> go.Figure:
    """Resident memory from zero: a line for each contender or rank from its times (seconds, or steps) and its bytes at
    each. The legend says what each has gained from its first to its last point."""
    drawable = {name: line for name, line in lines.items() if line[1]}
    if not drawable:
        return theme.nothing_yet(NO_MEMORY)
    highest = max(max(values) for _, values in drawable.values())
    factor, unit = (1e9, "GB") if highest >= 1e9 else (1e6, "MB")
    traces = [
        marks.line(
            list(times),
            [round(value / factor, 4) for value in values],
            theme.rank_colour(place),
            [f"{quantity(at)} {axis}<br>{name}: {size(value)}" for at, value in zip(times, values, strict=True)],
            size=7 if len(values) <= 40 else 0,
            line={"dash": DASHES[place % len(DASHES)]},
            name=f"{name}: {'+' if values[-1] >= values[0] else '−'}{size(abs(values[-1] - values[0]))}",
        )
        for place, (name, (times, values)) in enumerate(drawable.items())
    ]
    return theme.figure(
        traces,
        height=320,
        showlegend=True,
        xaxis={"title": {"text": axis}, "rangemode": "tozero", "nticks": 8},
        yaxis=marks.values_axis(f"resident memory, {unit}", 0, range=[0, 1.1 * highest / factor]),
    )


FEW_POINTS = 60  # points up to which each one is marked
HELD_OUT = theme.OTHER
STEPS, SECONDS = "step", "seconds since its first event"
FROM_ZERO = ("/s", "spread", "drift")  # ends of names whose zero means something: standstill, all the same
NONE: Mapping[str, Sequence[Series]] = {}


def curve(
    series: Sequence[Series], held_out: Sequence[Series] = (), began: float | None = None, height: int = 300
) -> go.Figure:
    """One event name over its steps, a line per rank that told it, and as points what was measured on held-out data. Of
    several events in a point the line is the mean, with a band from the lowest to the highest. `began` is the time of
    the run's first event."""
    if not any(values.steps for values in (*series, *held_out)):
        return theme.nothing_yet("Nothing told yet", height)
    traces: list[go.Scatter] = []
    for values in series:
        colour = theme.ACCENT if len(series) == 1 else theme.rank_colour(values.rank)
        if values.count > len(values.steps):
            place = {"x": values.steps, "meta": _seconds(values, began)}
            traces += marks.band(_short(values.lows, 4), _short(values.highs, 4), colour, 0.15, **place)
        name = f"rank {values.rank}" if len(series) > 1 else _with_newest("training", values) if held_out else "rank 0"
        traces.append(_curve(values, name, colour, began))
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
        yaxis=_curve_values([*series, *held_out]),
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
            (runs, label, _curve, {"line_dash": ("solid", "dash")}),
            (held_out, f"{label}, held out", _points, {"marker_symbol": ("circle", "diamond")}),
        ):
            if candidates := of_runs.get(label):
                values = min(candidates, key=lambda values: values.rank)
                trace = draw(values, words, theme.rank_colour(number), (began or {}).get(label))
                traces.append(trace.update({look: choice[number > 0] for look, choice in looks.items()}))
                drawn_series.append(values)
    if not traces:
        return theme.nothing_yet("Neither run told any", 320)
    axes = {"xaxis": _x_axis(drawn_series), "yaxis": _curve_values(drawn_series)}
    return theme.figure(traces, height=320, showlegend=True, **axes)


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


def _curve(series: Series, name: str, colour: str, began: float | None) -> go.Scatter:
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


def _curve_values(series: Sequence[Series]) -> dict[str, object]:
    """The axis of values: percentages for shares, short forms such as 12k for large values, whole numbers for a few."""
    values = [value for line in series for value in line.means if math.isfinite(value)]
    if series and all(_is_share(line) for line in series):
        return {"nticks": 6, "tickformat": ".0%" if not values or max(values) - min(values) > 0.05 else ".1%"}
    from_zero = bool(series) and all(line.name.endswith(FROM_ZERO) for line in series)
    if values and not from_zero and all(value == round(value) for value in values) and max(values) - min(values) < 6:
        return {"dtick": 1, "tickformat": "d"}
    more = {"rangemode": "tozero"} if from_zero else {}
    return marks.values_axis("", max(map(abs, values), default=0.0), **more)
