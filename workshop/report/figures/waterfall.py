"""From a start to an end in steps, and what each step gave."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from workshop.report.figures import marks, theme
from workshop.report.figures.curves import number
from workshop.report.figures.points import NOTHING, safe

GAIN, LOSS, START = theme.GOOD, theme.OTHER, theme.QUIET
WRAPPED = 22  # characters of a line beside a bar
SMALL = 0.18  # share of the axis below which a bar has no room for its words


@dataclass(frozen=True)
class WaterfallStep:
    """One change, and the work per second after it; `sure` is whether the repeats tell it from no change."""

    name: str
    after: float
    sure: bool = True


def waterfall(start: WaterfallStep, steps: Sequence[WaterfallStep], unit: str) -> go.Figure:
    """Bars from left to right and from top to bottom: the value at the start, what each step added or took and by which
    factor, and the value at the end with the factor of all steps."""
    if start.after <= 0:
        return theme.nothing_yet(NOTHING)
    before = [start.after, *(step.after for step in steps)]
    end = before[-1]
    names = [start.name, *(step.name for step in steps), "all together"]
    factors = [step.after / was if was > 0 else 0.0 for step, was in zip(steps, before, strict=False)]
    texts = [
        number(float(f"{start.after:.3g}")),
        *(f"×{factor:.2f}{'' if step.sure else ' ?'}" for factor, step in zip(factors, steps, strict=True)),
        f"{number(float(f'{end:.3g}'))} · ×{end / start.after:.2f}",
    ]
    hover = [
        f"{safe(start.name)}<br>{number(start.after)} {unit}",
        *(
            f"{safe(step.name)}<br>from {number(was)} to {number(step.after)} {unit}"
            + ("" if step.sure else "<br>no more than chance does")
            for step, was in zip(steps, before, strict=False)
        ),
        f"all together<br>{number(end)} {unit}",
    ]
    bases = [0.0, *(min(was, step.after) for was, step in zip(before, steps, strict=False)), 0.0]
    lengths = [start.after, *(abs(step.after - was) for was, step in zip(before, steps, strict=False)), end]
    colours = [START, *(GAIN if factor >= 1 else LOSS for factor in factors), theme.ACCENT]
    highest = max(before)
    rows = list(range(len(names)))
    shapes = ["", *("" if step.sure else "/" for step in steps), ""]
    hatch = {"shape": shapes, "fgcolor": theme.PAPER, "solidity": 0.4}
    marker = {"color": colours, "line": {"width": 0}, "pattern": hatch}
    bars = marks.bars(lengths, rows, marker, hover, base=bases)
    notes = [
        _note(row, base, length, text, highest)
        for row, base, length, text in zip(rows, bases, lengths, texts, strict=True)
    ]
    thin = {"type": "line", "line": {"color": theme.MUTED, "width": 1}}
    lines = [{**thin, "x0": at, "x1": at, "y0": row + 0.35, "y1": row + 0.65} for row, at in enumerate(before)]
    return theme.figure(
        [bars],
        height=90 + 46 * len(names),
        bargap=0.3,
        showlegend=False,
        shapes=lines,
        annotations=notes,
        xaxis=marks.values_axis(unit, highest, range=[0, 1.05 * highest], nticks=5),
        yaxis=marks.names_axis([_wrapped(name, at in (0, len(names) - 1)) for at, name in enumerate(names)], down=True),
    )


def _note(row: int, base: float, length: float, text: str, highest: float) -> dict[str, object]:
    """A bar's words: in it where it has room, else behind it, or before it where it ends at the right edge."""
    font = {"size": 16, "color": theme.INK}
    note = {"y": row, "text": f"<b>{text}</b>", "showarrow": False, "font": font}
    if base == 0 and length > 2 * SMALL * highest:
        return {**note, "x": 0, "xanchor": "left", "xshift": 6, "font": {**font, "color": theme.PAPER}}
    if base + length < (1 - SMALL) * highest:
        return {**note, "x": base + length, "xanchor": "left", "xshift": 5}
    return {**note, "x": base, "xanchor": "right", "xshift": -5}


def _wrapped(name: str, bold: bool) -> str:
    text = "<br>".join(map(safe, textwrap.wrap(name, WRAPPED)[:2]))
    return f"<b>{text}</b>" if bold else text
