"""The steps of all ranks beside each other in time: who computed, who waited, who came last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.figures import marks, theme

# Names of spans in the trace, with the phases whose looks they have.
PHASES = {"input": "input", "compute": "compute", "wait": "wait", "exchange": "communicate", "update": "update"}
# Names of other spans, with the phase whose looks they have, and what they are.
OTHERS = {
    "bucket": ("exchange", "gradients on their way"),
}
STEPS = 8  # as many as can be told apart on a phone
FEWEST = 4  # that are drawn rather than some with a pause between them
BARS = 1600  # as many as a browser draws at once
LONG = 1.5  # times as many median steps: a window as long as that holds a pause, or a step that is no usual one
TOP = -0.75  # where the numbers of steps are, in rows
NOTABLE = 0.02  # of a step: where every wait is shorter, no rank came last


@dataclass(frozen=True)
class Span:
    """A phase of a step on one rank, in milliseconds of the trace's axis."""

    row: int
    name: str
    begin: float
    length: float
    step: int
    last: bool
    text: str = ""  # where it isn't a rank's

    @property
    def end(self) -> float:
        return self.begin + self.length


def timeline(trace: Mapping[str, Any]) -> go.Figure:
    """Some steps of all ranks, a row for each rank and rows for the buckets of gradients that leave during the
    computation, where the trace has them.

    `trace` is a Chrome trace as `engine.training.trace` builds it. Of its steps as many are drawn as can be told apart:
    the first ones that follow each other without a pause and without one that takes far longer than usual, as the first
    of an epoch does. A mark shows who came last to the exchange of a step.
    """
    events = [event for event in trace.get("traceEvents") or [] if event.get("ph") in ("X", "M")]
    names = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
    ranks = sorted(pid for pid, name in names.items() if name.startswith("rank "))
    rows = {pid: row for row, pid in enumerate(ranks)}
    spans = [_span(event, rows[event["pid"]]) for event in events if event["ph"] == "X" and event["pid"] in rows]
    spans = [span for span in spans if span.name in PHASES]
    if not spans:
        return theme.nothing_yet("No step was kept in the timeline")
    steps = _window(spans, len(rows))
    visible = [span for span in spans if span.step in steps]
    zero, end = min(span.begin for span in visible), max(span.end for span in visible)
    labels = [f"rank {row}" for row in range(len(rows))]
    spans_drawn = list(visible)
    for pid in sorted(names.keys() - rows.keys()):
        events_beside = [event for event in events if event["ph"] == "X" and event["pid"] == pid]
        if spans_beside := _merged(events_beside, len(labels), zero, end):
            labels.append(names[pid].split(",")[0])
            spans_drawn += spans_beside
    traces = [_bars(phase, [span for span in spans_drawn if span.name == phase], zero) for phase in PHASES]
    begins = {step: min(span.begin for span in visible if span.step == step) - zero for step in steps}
    lines = [_line(begin) for begin in begins.values()]
    numbers = _numbers(begins, end - zero)
    height = max(240, min(120 + 52 * len(labels), 680))
    return theme.figure(
        [*(bar for bar in traces if len(bar.x)), _last(visible, zero)],
        barmode="overlay",
        bargap=0.36,
        height=height,
        showlegend=True,
        shapes=lines,
        annotations=numbers,
        xaxis=marks.values_axis("milliseconds", 0, tickformat="", tickangle=0, range=[0, end - zero], showgrid=False),
        yaxis=marks.names_axis(labels, range=[len(labels) - 0.5, TOP - 0.2], fixedrange=True),
        legend={"traceorder": "normal", "font": {"size": 14}},
    )


def _span(event: Mapping[str, Any], row: int) -> Span:
    args = event.get("args") or {}
    begin, length = event["ts"] / 1e3, event["dur"] / 1e3
    return Span(row, event["name"], begin, length, args.get("step", -1), bool(args.get("last")))


def _window(spans: Iterable[Span], ranks: int) -> list[int]:
    """The steps that are drawn."""
    begins: dict[int, float] = defaultdict(lambda: float("inf"))
    ends: dict[int, float] = defaultdict(float)
    for span in spans:
        begins[span.step] = min(begins[span.step], span.begin)
        ends[span.step] = max(ends[span.step], span.end)
    steps = sorted(begins)
    usual = LONG * median(ends[step] - begins[step] for step in steps)
    most = min(len(steps), max(min(STEPS, BARS // (ranks * len(PHASES))), 2))

    def length(window: list[int]) -> float:
        return ends[window[-1]] - begins[window[0]]

    for count in range(most, min(FEWEST, most) - 1, -1):
        for start in range(len(steps) - count + 1):
            window = steps[start : start + count]
            if length(window) <= count * usual:
                return window
    return min((steps[start : start + most] for start in range(len(steps) - most + 1)), key=length)


def _merged(events: Iterable[Mapping[str, Any]], row: int, zero: float, end: float) -> list[Span]:
    """The spans of a process that is no rank, in the window; overlapping ones of several tensors are one bar."""
    merged: list[Span] = []
    for name, (phase, text) in OTHERS.items():
        intervals = sorted(
            (event["ts"] / 1e3, (event["ts"] + event["dur"]) / 1e3) for event in events if event["name"] == name
        )
        together: list[list[float]] = []
        for begin, until in intervals:
            if until < zero or begin > end:
                continue
            begin, until = max(begin, zero), min(until, end)
            if together and begin <= together[-1][1]:
                together[-1][1] = max(together[-1][1], until)
            else:
                together.append([begin, until])
        merged += [Span(row, phase, begin, until - begin, -1, False, text) for begin, until in together]
    return merged


def _bars(name: str, spans: list[Span], zero: float) -> go.Bar:
    """All spans of one name."""
    texts = [span.text or f"rank {span.row}, step {span.step}: {PHASES[name]}" for span in spans]
    return marks.bars(
        [round(span.length, 3) for span in spans],
        [span.row for span in spans],
        theme.phase_marker(PHASES[name]),
        [f"{text} {words.seconds(span.length / 1e3)}" for text, span in zip(texts, spans, strict=True)],
        name=PHASES[name],
        base=[round(span.begin - zero, 3) for span in spans],
    )


def _last(spans: Iterable[Span], zero: float) -> go.Scatter:
    """A mark over the last rank's exchange, in steps with waiting."""
    waited: dict[int, float] = defaultdict(float)
    spent: dict[int, float] = defaultdict(float)  # on rank 0, in the step
    for span in spans:
        if span.name == "wait":
            waited[span.step] = max(waited[span.step], span.length)
        if span.row == 0:
            spent[span.step] += span.length
    marked = [span for span in spans if span.last and waited[span.step] > NOTABLE * spent[span.step]]
    others = [words.seconds(waited[span.step] / 1e3) for span in marked]
    return marks.points(
        [round(span.begin - zero, 3) for span in marked],
        [span.row - 0.42 for span in marked],
        theme.ALARM,
        [
            f"rank {span.row} came last in step {span.step}: others waited up to {waits}"
            for span, waits in zip(marked, others, strict=True)
        ],
        marker={"symbol": "triangle-down"},
        name="came last",
    )


def _line(at: float) -> dict[str, Any]:
    """Where a step begins."""
    line = {"color": theme.LINE, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line, "layer": "below"}


def _numbers(begins: Mapping[int, float], width: float) -> list[dict[str, Any]]:
    """The numbers of steps above their beginnings, as far as they don't run into each other."""
    notes: list[dict[str, Any]] = []
    free = 0.0
    for step, at in begins.items():
        if at < free * width:
            continue
        free = at / width + (0.07 if notes else 0.22)  # of a phone's width
        text = str(step) if notes else f"step {step}"
        notes.append(theme.note(at, TOP, text, 14, theme.MUTED, xanchor="left", yanchor="middle"))
    return notes
