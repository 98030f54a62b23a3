"""Figures of a cut: the timeline of a pipeline, the memory of each rank, and who has what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.figures import marks, theme
from workshop.workloads.parallel.schedules import WORK, StageSpan

LOOKS: Mapping[str, str] = {
    "forward": theme.RANKS[0],
    "backward": theme.RANKS[1],
    "weights": theme.RANKS[2],
    "send": theme.RANKS[3],
    "receive": theme.STRIPES,
}
USES: Mapping[str, str] = {
    "weights": theme.RANKS[0],
    "gradients": theme.RANKS[1],
    "optimizer": theme.RANKS[2],
    "activations": theme.RANKS[3],
    "buffers": theme.REST,
}
NUMBERED = 200  # spans that can have the number of their micro-batch on them


def timeline(spans: Sequence[StageSpan]) -> go.Figure:
    """A row for each stage: its work with the number of the micro-batch, sends, and receives, in which it waits. Empty
    places are idle."""
    if not spans:
        return theme.nothing_yet("There is no pipeline in this cut")
    stages = 1 + max(span.stage for span in spans)
    begin, end = min(span.begin for span in spans), max(span.end for span in spans)
    scale = 1000  # milliseconds
    traces = []
    for kind, colour in LOOKS.items():
        of_kind = [span for span in spans if span.instruction.kind == kind]
        if of_kind:
            numbers = (
                [str(span.instruction.micro) for span in of_kind] if kind in WORK and len(spans) < NUMBERED else ()
            )
            traces.append(
                marks.bars(
                    [scale * (span.end - span.begin) for span in of_kind],
                    [span.stage for span in of_kind],
                    colour,
                    [f"stage {span.stage}: {span.instruction}" for span in of_kind],
                    numbers,
                    theme.text_on(colour) if colour in theme.RANKS else theme.INK,
                    name=kind,
                    base=[scale * (span.begin - begin) for span in of_kind],
                )
            )
    return theme.figure(
        traces,
        height=130 + 50 * stages,
        barmode="overlay",
        bargap=0.25,
        showlegend=True,
        xaxis=marks.values_axis("milliseconds", 0, range=[0, scale * (end - begin) * 1.01], showgrid=False),
        yaxis=marks.names_axis([f"stage {stage}" for stage in range(stages)], range=[stages - 0.5, -0.5]),
    )


def memory(ledgers: Sequence[Mapping[str, int]]) -> go.Figure:
    """Stacked bars of each rank's memory by use."""
    if not ledgers:
        return theme.nothing_yet("No memory is known yet")
    names = [f"rank {rank}" for rank in range(len(ledgers))]
    parts = {use: [ledger.get(use, 0) / 1e6 for ledger in ledgers] for use in USES}
    most = max(sum(ledger.values()) for ledger in ledgers) / 1e6
    texts = {use: [f"{value:.3g}" if value > 0.06 * most else "" for value in values] for use, values in parts.items()}
    return marks.stacked(
        names,
        parts,
        {use: {"color": colour, "line": {"width": 0}} for use, colour in USES.items()},
        {use: f"%{{y}}<br>{use}: %{{x:.4g}} MB<extra></extra>" for use in USES},
        texts,
        ("weights",),
        height=min(150 + 44 * len(names), 900),
        xaxis={"title": {"text": "MB"}, "rangemode": "tozero"},
    )


def kind_words(kind: str, calls: int, size: float) -> list[str]:
    """A row of a table of traffic: the axis and kind, calls, bytes."""
    axis, _, what = kind.partition(" ")
    return [axis, what, words.thousands(calls), words.size(size)]
