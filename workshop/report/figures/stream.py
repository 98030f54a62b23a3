"""Lanes of ranks in time: the task stream of what each has done last, and the timeline of a training's steps, in which
one sees who waited for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from math import inf, isfinite
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.figures import marks, theme
from workshop.store.records import Event

PREFIX = "time."  # of events
WINDOW, LEAST = 10.0, 0.1  # seconds: the longest stream, and the shortest
LASTING, LATE = 0.5, 2.0  # seconds after which the words on a phase tell its time; in which the newest events come
BARS, MOST, FEWEST = 1600, 300, 20  # spans of all ranks together, and of one rank
ORDER = ("input", "compute", "wait", "communicate")  # of phases in a step
PREPARATION = ("prepare", "initialise")  # once, before the steps: they would hide them
VERBS = {
    "prepare": "prepares",
    "compute": "computes",
    "wait": "waits for others",
    "communicate": "exchanges data",
    "input": "reads input",
}
# Of phases that other runs don't have, in the order in which they first came.
OTHERS = (theme.PHASES["update"], theme.ENCODE, theme.BROADCAST, *theme.RANKS[2:6])
WITH_WORDS = 12  # ranks; the words above more lanes could not be read

Phases = Mapping[int, tuple[str, float]]  # rank -> a phase that lasts, and its begin in seconds since the epoch


@dataclass(frozen=True)
class PhaseSpan:
    """A phase of a rank, in seconds since the epoch."""

    rank: int
    phase: str
    begin: float
    end: float


@dataclass(frozen=True)
class Stream:
    """The spans of `ranks` ranks between two times; `phases` last at its end."""

    ranks: int
    begin: float
    end: float
    spans: Sequence[PhaseSpan]
    phases: Phases

    def words(self, rank: int) -> str:
        """Say what a rank does at the end of the stream, for instance "waits for others, 3.2 s"."""
        phase, share = _most(span for span in self.spans if span.rank == rank)
        time = f" for {words.percent(share)} of the time"
        if rank in self.phases:
            phase, since = self.phases[rank]
            time = f", {words.seconds(max(self.end - since, 0.0))}"
        return VERBS.get(phase, f"is in {phase}") + time if phase else "tells nothing"

    @property
    def sentence(self) -> str:
        return "; ".join(f"rank {rank} {self.words(rank)}" for rank in range(self.ranks)).capitalize() + "."


def stream(events: Iterable[Event], ranks: int, phases: Phases, now: float | None) -> Stream | None:
    """The last seconds of all ranks, fewer where phases are short; None without a phase. `phases` are those that last
    `now` and have no event yet. Without `now` the stream ends with the last event."""
    all_spans = spans(events)
    end = max((span.end for span in all_spans), default=0.0)
    if now is not None:
        past, early = end > now, now - LASTING
        phases = {s.rank: (s.phase, s.begin) for s in all_spans if s.begin < early and s.end > now} | dict(phases)
        all_spans = [replace(span, end=min(span.end, now)) for span in all_spans if span.begin < now]
        # The newest events of some ranks may be on their way.
        ends = {span.rank: span.end for span in all_spans if span.rank not in phases}
        end = now if past else min((at for at in ends.values() if now - at < LATE), default=now)
    all_spans += [PhaseSpan(rank, phase, since, max(end, since)) for rank, (phase, since) in phases.items()]
    if not all_spans:
        return None
    all_spans = [span for span in all_spans if span.phase not in PREPARATION] or all_spans
    by_rank = [[span for span in all_spans if span.rank == rank] for rank in range(ranks)]
    most = min(max(BARS // (2 * ranks), FEWEST), MOST)
    dense = [of_rank[-most].begin for of_rank in by_rank if len(of_rank) >= most]
    first = min(end, *(span.begin for span in all_spans))
    begin = max(min(max([end - WINDOW, *dense]), end - LEAST), first)
    visible = [span for of_rank in by_rank for span in joined(of_rank, begin, end, (end - begin) / most)]
    return Stream(ranks, begin, end, visible, phases)


def spans(events: Iterable[Event]) -> list[PhaseSpan]:
    """The spans of all ranks, in order of time for each. The phases of a step end at the time of its events, one behind
    the other; they never reach into the step before."""
    steps: dict[tuple[int, float], list[tuple[int, str, float]]] = defaultdict(list)
    for event in events:
        phase = event.name.removeprefix(PREFIX)
        if phase != event.name and isfinite(event.value) and event.value > 0:
            place = ORDER.index(phase) if phase in ORDER else len(ORDER)
            steps[event.rank, event.time].append((place, phase, event.value))
    all_spans: list[PhaseSpan] = []
    for (rank, at), step in sorted(steps.items()):
        before = all_spans[-1].end if all_spans and all_spans[-1].rank == rank else -inf
        end = at - sum(value for *_, value in step)
        for _, phase, value in sorted(step):
            begin, end = end, end + value
            if end > before:
                all_spans.append(PhaseSpan(rank, phase, max(begin, before), end))
    return all_spans


def joined(of_rank: Sequence[PhaseSpan], begin: float, end: float, pixel: float) -> list[PhaseSpan]:
    """The spans of one rank between two times. Neighbours of one phase, and spans that are shorter than a `pixel`
    (seconds), become one span, which has the phase that has most of its time."""
    groups: list[list[PhaseSpan]] = [[]]
    for span in of_rank:
        if begin < span.end and span.begin < end:
            clipped, group = replace(span, begin=max(span.begin, begin), end=min(span.end, end)), groups[-1]
            touches = group and clipped.begin - group[-1].end < pixel
            if touches and (clipped.phase == group[-1].phase or clipped.end - group[0].begin <= pixel):
                group.append(clipped)
            else:
                groups.append([clipped])
    return [replace(group[0], phase=_most(group)[0], end=group[-1].end) for group in groups if group]


def _most(some: Iterable[PhaseSpan]) -> tuple[str, float]:
    """The phase that has most of the time of some spans, and its share; "" without any."""
    spent: dict[str, float] = defaultdict(float)
    for span in some:
        spent[span.phase] += span.end - span.begin
    phase = max(spent, key=spent.__getitem__, default="")
    return phase, spent[phase] / (sum(spent.values()) or 1.0)


def task_stream(stream: Stream, phases: Sequence[str], start: float) -> go.Figure:
    """Draw what every rank does, with words above its lane. `phases` are all of the run, in the order of their
    colours; `start` is the time from which the axis counts."""
    usual = {phase: theme.phase_marker(phase) for phase in theme.PHASES}
    markers: dict[str, Any] = usual | dict(zip((phase for phase in phases if phase not in usual), cycle(OTHERS)))
    by_phase = {phase: [span for span in stream.spans if span.phase == phase] for phase in markers}
    traces = [
        marks.bars(
            [round(span.end - span.begin, 5) for span in bars],
            [span.rank for span in bars],
            markers[phase],
            [f"rank {span.rank}: {phase} {words.seconds(span.end - span.begin)}" for span in bars],
            name=phase,
            base=[round(span.begin - start, 5) for span in bars],
        )
        for phase, bars in by_phase.items()
        if bars
    ]
    window = [stream.begin - start, stream.end - start]
    ranks = range(stream.ranks)
    return theme.figure(
        traces,
        height=max(200, min(130 + 66 * stream.ranks, 720)),
        annotations=[
            theme.note(1, rank - 0.44, stream.words(rank), xref="paper", xanchor="right")
            for rank in ranks
            if len(ranks) <= WITH_WORDS
        ],
        xaxis=marks.values_axis("seconds since the start of the run", 0, range=window, showgrid=False),
        yaxis=marks.names_axis([f"rank {rank}" for rank in ranks], range=[stream.ranks - 0.5, -0.65], fixedrange=True),
        barmode="overlay",
        bargap=0.55,
        showlegend=True,
    )


# Names of spans in the trace, with the phases whose looks they have.
PHASES = {"input": "input", "compute": "compute", "wait": "wait", "exchange": "communicate", "update": "update"}
STEPS = 8  # as many as can be told apart on a phone
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
    """Some steps of all ranks of a trace by `engine.training.trace`: a row for each rank, and for buckets of gradients.
    As many steps are drawn as can be told apart: those that follow each other in the shortest time, so without a pause.
    A mark shows who came last to the exchange of a step."""
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
    labels, spans_drawn = [f"rank {row}" for row in range(len(rows))], list(visible)
    for pid in sorted(names.keys() - rows.keys()):
        events_beside = [event for event in events if event["ph"] == "X" and event["pid"] == pid]
        if spans_beside := _buckets(events_beside, len(labels), zero, end):
            labels.append(names[pid].split(",")[0])
            spans_drawn += spans_beside
    traces = [_bars(phase, [span for span in spans_drawn if span.name == phase], zero) for phase in PHASES]
    begins = {step: min(span.begin for span in visible if span.step == step) - zero for step in steps}
    begin = {"type": "line", "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    begin["line"] = {"color": theme.LINE, "width": 1, "dash": "dot"}
    return theme.figure(
        [*(bar for bar in traces if len(bar.x)), _last(visible, zero)],
        barmode="overlay",
        bargap=0.36,
        height=max(240, min(120 + 52 * len(labels), 680)),
        showlegend=True,
        shapes=[begin | {"x0": at, "x1": at} for at in begins.values()],
        annotations=_numbers(begins, end - zero),
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
    begins: dict[int, float] = {}
    ends: dict[int, float] = {}
    for span in spans:
        begins[span.step] = min(begins.get(span.step, inf), span.begin)
        ends[span.step] = max(ends.get(span.step, 0.0), span.end)
    steps = sorted(begins)
    most = min(len(steps), max(min(STEPS, 1600 // (ranks * len(PHASES))), 2))
    windows = [steps[start : start + most] for start in range(len(steps) - most + 1)]
    return min(windows, key=lambda window: round(ends[window[-1]] - begins[window[0]], 3))


def _buckets(events: Iterable[Mapping[str, Any]], row: int, zero: float, end: float) -> list[Span]:
    """When gradients were on their way, in the window; overlapping buckets are one bar."""
    merged: list[Span] = []
    for event in sorted((event for event in events if event["name"] == "bucket"), key=lambda event: event["ts"]):
        begin, until = max(event["ts"] / 1e3, zero), min((event["ts"] + event["dur"]) / 1e3, end)
        if begin > until:
            continue
        if merged and begin <= merged[-1].end:
            before = merged.pop()
            begin, until = before.begin, max(before.end, until)
        merged.append(Span(row, "exchange", begin, until - begin, -1, False, "gradients on their way"))
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
        waited[span.step] = max(waited[span.step], span.length if span.name == "wait" else 0.0)
        spent[span.step] += span.length if span.row == 0 else 0.0
    marked = [span for span in spans if span.last and waited[span.step] > NOTABLE * spent[span.step]]
    return marks.points(
        [round(span.begin - zero, 3) for span in marked],
        [span.row - 0.42 for span in marked],
        theme.ALARM,
        [
            f"rank {span.row} came last in step {span.step}: others waited up to "
            f"{words.seconds(waited[span.step] / 1e3)}"
            for span in marked
        ],
        marker={"symbol": "triangle-down"},
        name="came last",
    )


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
