"""Figures of a cut: the timeline of a pipeline, the memory of each rank, and who has what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.cards import Part, line, paragraph, table
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
MILLI = 1000  # milliseconds of a second
STEPS = 96  # of the slider at most
FADED = 0.15
NUMBERED = 200  # spans that can have the number of their micro-batch on them


def timeline(spans: Sequence[StageSpan]) -> go.Figure:
    """A row for each stage: its work with the number of the micro-batch, sends, and receives, in which it waits. Empty
    places are idle. One slider steps through the work, the other one follows a micro-batch through the stages."""
    stages = 1 + max(span.stage for span in spans)
    begin, end = min(span.begin for span in spans), max(span.end for span in spans)
    by_kind = {kind: [span for span in spans if span.instruction.kind == kind] for kind in LOOKS}
    traces = [_spans(kind, group, begin, len(spans)) for kind, group in by_kind.items() if group]
    groups = [group for group in by_kind.values() if group]
    return theme.figure(
        traces,
        height=290 + 50 * stages,
        barmode="overlay",
        bargap=0.25,
        showlegend=True,
        xaxis=marks.values_axis("milliseconds", 0, range=[0, MILLI * (end - begin) * 1.01], showgrid=False),
        yaxis=marks.names_axis([f"stage {stage}" for stage in range(stages)], range=[stages - 0.5, -0.5]),
        **_steps(groups, begin),
    )


def _spans(kind: str, spans: Sequence[StageSpan], begin: float, count: int) -> go.Bar:
    return marks.bars(
        [MILLI * (span.end - span.begin) for span in spans],
        [span.stage for span in spans],
        LOOKS[kind],
        [f"stage {span.stage}: {span.instruction}" for span in spans],
        [str(span.instruction.micro) for span in spans] if kind in WORK and count < NUMBERED else (),
        name=kind,
        base=[MILLI * (span.begin - begin) for span in spans],
    )


def _steps(groups: Sequence[Sequence[StageSpan]], begin: float) -> dict[str, Any]:
    """A slider over the work in the order of its beginning, and a slider over micro-batches; all other spans fade."""
    work = sorted(
        (span for group in groups for span in group if span.instruction.kind in WORK),
        key=lambda span: (span.begin, span.stage),
    )
    if not 1 < len(work) <= STEPS:
        return {}

    def step(label: str, visible: Callable[[StageSpan], bool]) -> dict[str, Any]:
        opacities = [[1.0 if visible(span) else FADED for span in group] for group in groups]
        return {"label": label, "method": "restyle", "args": [{"marker.opacity": opacities}]}

    def until(last: StageSpan) -> dict[str, Any]:
        label = f"stage {last.stage}, {last.instruction.kind} {last.instruction.micro}"
        return step(f"{label}, at {words.seconds(last.begin - begin)}", lambda span: span.begin <= last.begin)

    def following(micro: int) -> dict[str, Any]:
        return step(f"micro-batch {micro}", lambda span: span.instruction.micro == micro)

    micros = sorted({span.instruction.micro for span in work})
    everything = step("all micro-batches", lambda span: True)
    sliders = [
        _slider("Until: ", [until(span) for span in work], len(work) - 1, 45),
        _slider("Follow: ", [everything, *map(following, micros)], 0, 120),
    ]
    return {"sliders": sliders, "margin": {"b": 200}}


def _slider(prefix: str, steps: Sequence[Mapping[str, Any]], active: int, below: int) -> dict[str, Any]:
    """A slider so many pixels below the axis."""
    return {
        "steps": steps,
        "active": active,
        "currentvalue": {"prefix": prefix, "font": {"color": theme.INK, "size": 16}},
        "pad": {"t": below},
        "ticklen": 0,
        "minorticklen": 0,
        "font": {"color": theme.PAPER, "size": 1},  # of the labels below, which would overlap
    }


def shares(
    rows: Sequence[str], columns: Sequence[str], cells: Mapping[tuple[int, int], tuple[float, str]]
) -> go.Figure:
    """The cut as a picture: a row for each layer, a column for each rank. `cells` by (row, column): the share of the
    layer's weights that the rank has, and what it has in words; empty places are on other ranks."""
    matrix = [[cells.get((row, column), (None, "")) for column in range(len(columns))] for row in range(len(rows))]
    heat = marks.cells(
        [[share for share, _ in line] for line in matrix],
        list(columns),
        list(rows),
        (0, 1),
        [[words for _, words in line] for line in matrix],
        colorscale=[[0, theme.SCALE[0][1]], [1, theme.FAINT]],
        textfont={"size": 13, "color": theme.INK},
    )
    axes = {"xaxis": {"side": "top", "showgrid": False, "type": "category"}, "yaxis": marks.CATEGORIES}
    return theme.figure([heat], height=120 + 30 * len(rows), **axes)


def rule(ledgers: Mapping[str, Mapping[str, int]]) -> go.Figure:
    """Activations against the state of the weights, as shares of the memory that a network needs on one device."""
    shares = [100 * ledger["activations"] / sum(ledger.values()) for ledger in ledgers.values()]
    parts = {"activations": shares, "weights, gradients, optimizer": [100 - share for share in shares]}
    colours = {"activations": USES["activations"], "weights, gradients, optimizer": USES["weights"]}
    return marks.stacked(list(ledgers), parts, colours, "%", axis="share of the memory [%]")


def memory(ledgers: Sequence[Mapping[str, int]]) -> go.Figure:
    """Stacked bars of each rank's memory by use."""
    parts = {use: [ledger.get(use, 0) / 1e6 for ledger in ledgers] for use in USES}
    return marks.stacked([f"rank {rank}" for rank in range(len(ledgers))], parts, USES, "MB")


def traffic(kinds: Mapping[str, Sequence[int]], about: str) -> tuple[Part, ...]:
    """A table of calls and bytes by axis and kind, such as "data all-reduce", with a line `about` it."""
    if not kinds:
        return (paragraph(line("Nothing: one rank has all of it.")),)
    rows = [
        [*kind.split(" ", 1), words.quantity(calls), words.size(size)] for kind, (calls, size) in sorted(kinds.items())
    ]
    return paragraph(line(about, tone="about")), table(["Axis", "Kind", "Calls", "Bytes"], rows)
