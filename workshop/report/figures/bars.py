"""Bars: settings against a baseline or in groups, guesses, the steps of a waterfall, ranks' times; rings of shares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from workshop.core.words import exact, percent, quantity
from workshop.report.analysis.balance import Balance
from workshop.report.figures import marks, theme
from workshop.report.figures.marks import CHOSEN, NOTHING, UNDONE, Point, best, interval, safe

OTHERS, BASELINE = theme.FAINT, theme.REST
HEIGHT = 380  # pixels of groups
LINE, LINES = 44, 2  # characters of a line above a bar, which a phone has room for, and lines


def settings(points: Sequence[Point], unit: str, baseline: str = "") -> go.Figure:
    """A horizontal bar for each setting below its name, the first on top, with its median, its repeats' range as
    whiskers and how many times as fast as `baseline` (a point's name) it is, where a line stands. The best is dark."""
    if not any(point.values for point in points):
        return theme.nothing_yet(NOTHING)
    base = next((point for point in points if point.name == baseline and point.values), None)
    start = base.value if base else None
    top = best(points)
    places = [place for place, point in enumerate(points) if point.values]
    measured = [points[place] for place in places]
    undone = [place for place, point in enumerate(points) if not point.values]
    names = [textwrap.wrap(point.name, LINE)[:LINES] for point in points]
    row = 34 + 20 * max(map(len, names))  # pixels
    bars = marks.bars(
        [point.value for point in measured],
        places,
        [theme.ACCENT if at == top else BASELINE if points[at] is base else OTHERS for at in places],
        [point.words(unit) for point in measured],
        [f"<b>{_words(point, base, start)}</b>" for point in measured],
        constraintext="none",
        cliponaxis=False,
        error_x=interval(measured, theme.INK),
        customdata=places,
        **CHOSEN,
    )
    highest = max(max(point.values) for point in measured)
    baseline_at = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": start, "x1": start}
    baseline_at["line"] = {"color": theme.INK, "width": 2, "dash": "dash"}
    return theme.figure(
        [bars],
        height=70 + row * len(points),
        bargap=1 - 28 / row,
        showlegend=False,
        xaxis=marks.values_axis(unit, highest, nticks=5, range=[0, 1.06 * highest]),
        yaxis={"range": [len(points) - 0.5, -0.5 - 24 / row], "visible": False},
        shapes=[baseline_at] if start is not None else [],
        annotations=[
            *(_name(place, lines, points[place] is base) for place, lines in enumerate(names)),
            *(_undone(0, at, points[at], xref="paper", xanchor="left", xshift=6) for at in undone),
        ],
    )


def grouped(names: Sequence[str], groups: Mapping[str, Sequence[Point]], axis: str, unit: str) -> go.Figure:
    """Upright bars in groups: for each of `names` one bar of each contender, whose points are in the same order."""
    every = [point for points in groups.values() for point in points]
    if not any(point.values for point in every):
        return theme.nothing_yet(NOTHING, HEIGHT)
    traces, notes, first, width = [], [], 0, 0.8 / len(groups)
    for order, (contender, points) in enumerate(groups.items()):
        places = [place for place, point in enumerate(points) if point.values]
        measured = [points[place] for place in places]
        shift = (order - (len(groups) - 1) / 2) * width
        traces.append(
            marks.bars(
                [point.value for point in measured],
                [place + shift for place in places],
                theme.rank_colour(order),
                [f"{safe(contender)}<br>{point.words(unit)}" for point in measured],
                [f"<b>{quantity(point.value or 0.0)}</b>" for point in measured],
                upright=True,
                insidetextanchor="end",
                width=0.92 * width,
                name=contender,
                error_y=interval(measured, theme.INK),
                customdata=[first + place for place in places],
                **CHOSEN,
            )
        )
        notes += [
            _undone(place + shift, 0, point, f"{contender}: ", yref="paper", yanchor="bottom", textangle=-90)
            for place, point in enumerate(points)
            if not point.values
        ]
        first += len(points)
    highest = max(max(point.values) for point in every if point.values)
    return theme.figure(
        traces,
        height=HEIGHT,
        barmode="overlay",
        showlegend=len(groups) > 1,
        xaxis=marks.names_axis([*map(safe, names)], title={"text": axis}),
        yaxis=marks.values_axis(unit, highest, range=[0, 1.08 * highest]),
        annotations=notes,
    )


def _words(point: Point, base: Point | None, start: float | None) -> str:
    label = quantity(point.value or 0.0)
    if not start:
        return label
    return f"{label} · baseline" if point is base else f"{label} · {(point.value or 0.0) / start:.2f}×"


def _name(place: int, lines: Sequence[str], is_base: bool) -> dict[str, Any]:
    text = "<br>".join(map(safe, lines))
    where: Any = {"xref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 15, "align": "left"}
    return theme.note(0, place, f"<b>{text}</b>" if is_base else text, **where)


def _undone(x: float, y: float, point: Point, begin: str = "", **more: Any) -> dict[str, Any]:
    """What a setting without a value says in place of its bar."""
    reached = f" at {quantity(point.reached)}" if point.reached is not None and not begin else ""
    text = safe(f"{begin}{point.state}{reached}") if point.state else ""
    return theme.note(x, y, text, colour=UNDONE.get(point.state, theme.MUTED), hovertext=point.why, **more)


def guesses(tally: Sequence[tuple[str, int]]) -> go.Figure:
    """A horizontal bar for each answer with how many gave it, in the given order from the top."""
    if not any(count for _, count in tally):
        return theme.nothing_yet("Nobody has guessed", 160)
    names = [safe(name) for name, _ in tally]
    counts = [count for _, count in tally]
    texts = [f"<b>{count}</b>" if count else "" for count in counts]
    hover = [f"{name}: {count}" for name, count in zip(names, counts, strict=True)]
    bars = marks.bars(counts, list(range(len(tally))), theme.ACCENT, hover, texts, insidetextanchor="end")
    return theme.figure(
        [bars],
        height=70 + 36 * len(tally),
        bargap=0.3,
        showlegend=False,
        xaxis={"title": {"text": "learners"}, "dtick": max(max(counts) // 5, 1), "range": [0, 1.05 * max(counts)]},
        yaxis=marks.names_axis(names, down=True),
    )


GAIN, LOSS = theme.GOOD, theme.OTHER
WRAPPED = 22  # characters of a line beside a bar


@dataclass(frozen=True)
class WaterfallStep:
    """One change, and the work per second after it; `sure` is whether the repeats tell it from no change."""

    name: str
    after: float
    sure: bool = True


def waterfall(start: WaterfallStep, steps: Sequence[WaterfallStep], unit: str) -> go.Figure:
    """Bars from left to right and from top to bottom: the value at the start, what each step added or took and by which
    factor, and the value at the end with the factor of all steps."""
    before = [start.after, *(step.after for step in steps)]
    end, highest = before[-1], max(before)
    names = [start.name, *(step.name for step in steps), "all together"]
    texts, hover = [quantity(start.after)], [f"{safe(start.name)}<br>{exact(start.after, unit)}"]
    for was, step in zip(before, steps, strict=False):
        texts.append(f"×{step.after / was if was > 0 else 0.0:.2f}{'' if step.sure else ' ?'}")
        chance = "" if step.sure else "<br>no more than chance does"
        hover.append(f"{safe(step.name)}<br>from {exact(was)} to {exact(step.after, unit)}{chance}")
    gains = [GAIN if step.after >= was else LOSS for was, step in zip(before, steps, strict=False)]
    colours = [theme.ACCENT, *gains, theme.ACCENT]
    bars = go.Waterfall(
        orientation="h",
        x=[start.after, *(step.after - was for was, step in zip(before, steps, strict=False)), end],
        y=list(range(len(names))),
        measure=["absolute", *["relative"] * len(steps), "total"],
        text=[f"<b>{text}</b>" for text in [*texts, f"{quantity(end)} · ×{end / start.after:.2f}"]],
        hovertext=[*hover, f"all together<br>{exact(end, unit)}"],
        insidetextfont={"color": [theme.text_on(colour) for colour in colours]},
        increasing={"marker": {"color": GAIN}},
        decreasing={"marker": {"color": LOSS}},
        totals={"marker": {"color": theme.ACCENT}},
    )
    return theme.figure(
        [bars],
        height=90 + 46 * len(names),
        bargap=0.3,
        showlegend=False,
        xaxis=marks.values_axis(unit, highest, range=[0, 1.2 * highest], nticks=5),
        yaxis=marks.names_axis([_wrapped(name, at in (0, len(names) - 1)) for at, name in enumerate(names)], down=True),
    )


def _wrapped(name: str, bold: bool) -> str:
    text = "<br>".join(map(safe, textwrap.wrap(name, WRAPPED)[:2]))
    return f"<b>{text}</b>" if bold else text


def rank_times(times: Balance) -> go.Figure:
    """Where each rank's time went, as a stacked bar; the same reckoning as the verdict's, see `Balance`."""
    ranks = range(len(times.compute))
    phases: dict[str, Sequence[float]] = {"compute": times.compute}
    phases |= {"input": times.input} if any(times.input) else {}
    phases |= {"communicate": [times.exchange] * len(ranks), "wait": times.waiting}
    longest = max(sum(parts) for parts in zip(*phases.values(), strict=True))
    factor, unit, axis = (1.0, "s", "seconds") if longest >= 1 else (1e3, "ms", "milliseconds")
    lengths = {phase: [value * factor for value in seconds] for phase, seconds in phases.items()}
    markers = {phase: theme.phase_marker(phase) for phase in phases}
    return marks.stacked([f"rank {rank}" for rank in ranks], lengths, markers, unit, axis=axis)


NO_SHARES = "Nothing has told yet how it spent its time"
RING_HEIGHT = 320  # pixels
INSIDE = 0.06  # share from which a slice has room for its own words
WRITTEN = 0.02  # share from which it has words at all: those of slivers would run into each other, or out of the figure
# Names that come in many runs keep their colours, whatever else is in the ring; others take the next of `theme.RANKS`.
COLOURS = {"train": theme.ACCENT, "training": theme.ACCENT, "evaluate": theme.RANKS[1], "evaluation": theme.RANKS[1]}


def rings(wholes: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """A ring for each whole with the shares of its parts, from the top clockwise; parts have the same colours in all
    rings. Parts are amounts of one unit; those that aren't positive are left out. The name stands in the middle."""
    rings_drawn = {
        title: amounts
        for title, parts in wholes.items()
        if (amounts := {name: value for name, value in parts.items() if math.isfinite(value) and value > 0})
    }
    if not rings_drawn:
        return theme.nothing_yet(NO_SHARES, RING_HEIGHT)
    colours = _colours(rings_drawn)
    traces = []
    for place, (title, parts) in enumerate(rings_drawn.items()):
        total = sum(parts.values())
        part_of = {name: value / total for name, value in parts.items()}
        first, last = place / len(rings_drawn) + 0.01, (place + 1) / len(rings_drawn) - 0.01
        traces.append(
            go.Pie(
                labels=list(parts),
                values=list(parts.values()),
                title={"text": title.replace(" ", "<br>", 1) if len(title) > 12 else title, "font": {"size": 16}},
                domain={"x": [first, last]},
                hole=0.5,
                sort=False,
                direction="clockwise",
                marker={
                    "colors": [colours[name] for name in parts],
                    "line": {"color": theme.PAPER, "width": 2},
                    "pattern": {
                        "shape": ["/" if name == "wait" else "" for name in parts],
                        "fgcolor": [theme.HATCH for _ in parts],
                        "bgcolor": [colours[name] for name in parts],
                        "solidity": 0.3,
                    },
                },
                text=[_precise(share) if share >= WRITTEN else "" for share in part_of.values()],
                textinfo="text",
                textposition=["inside" if share >= INSIDE else "outside" for share in part_of.values()],
                insidetextorientation="horizontal",
                insidetextfont={"size": 17, "color": [theme.text_on(colours[name]) for name in parts]},
                outsidetextfont={"size": 15, "color": theme.INK},
                hovertext=[f"{name}: {_precise(share)}" for name, share in part_of.items()],
                **theme.HOVER,
            )
        )
    return theme.figure(
        traces,
        height=RING_HEIGHT,
        showlegend=True,
        legend={"y": -0.03, "yanchor": "top", "x": 0.5, "xanchor": "center", "traceorder": "normal"},
        margin={"t": 30},
    )


def _colours(rings: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """A colour for each part, no two alike as long as there are enough."""
    names = list(dict.fromkeys(name for parts in rings.values() for name in parts))
    colours = {name: colour for name in names if (colour := COLOURS.get(name) or theme.PHASES.get(name))}
    free = [colour for colour in theme.RANKS if colour not in colours.values()] or list(theme.RANKS)
    rest = [name for name in names if name not in colours]
    return colours | {name: free[number % len(free)] for number, name in enumerate(rest)}


def _precise(share: float) -> str:
    """A share that may be tiny: 0.3 %."""
    return percent(share) if share >= 0.01 else quantity(100 * share, "%")
