"""The task stream: a lane for each rank, with a bar for each of its phases in time."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.analysis.stream import Stream
from workshop.report.figures import marks, theme

# Of phases that other runs don't have, in the order in which they first came.
OTHERS = (theme.PHASES["update"], theme.ENCODE, theme.BROADCAST, *theme.RANKS[2:5], theme.RANKS[5], theme.RANKS[7])
WITH_WORDS = 12  # ranks; the words above more lanes could not be read


def task_stream(stream: Stream, phases: Sequence[str], start: float) -> go.Figure:
    """What every rank does, in words above its lane on the right. `phases` are all of the run, in the order of their
    colours; `start` is the time from which the axis counts."""
    unusual = [phase for phase in phases if phase not in theme.PHASES]
    traces = []
    for phase in dict.fromkeys([*theme.PHASES, *unusual]):
        bars = [span for span in stream.spans if span.phase == phase]
        if not bars:
            continue
        usual = phase in theme.PHASES
        traces.append(
            marks.bars(
                [round(span.seconds, 5) for span in bars],
                [span.rank for span in bars],
                theme.phase_marker(phase) if usual else OTHERS[unusual.index(phase) % len(OTHERS)],
                [f"rank {span.rank}: {phase} {words.seconds(span.seconds)}" for span in bars],
                name=phase,
                base=[round(span.begin - start, 5) for span in bars],
            )
        )
    ranks = range(stream.ranks)
    notes = [
        {"x": 1, "xref": "paper", "y": rank - 0.38, "text": stream.words(rank), "showarrow": False}
        | {"xanchor": "right", "font": {"size": 15, "color": theme.INK}}
        for rank in ranks
        if stream.ranks <= WITH_WORDS
    ]
    return theme.figure(
        traces,
        barmode="overlay",
        bargap=0.5,
        height=max(180, min(110 + 58 * stream.ranks, 680)),
        showlegend=True,
        annotations=notes,
        xaxis=marks.values_axis(
            "seconds since the start of the run", 0, range=[stream.begin - start, stream.end - start], showgrid=False
        ),
        yaxis=marks.names_axis([f"rank {rank}" for rank in ranks], range=[stream.ranks - 0.5, -0.65], fixedrange=True),
        legend={"traceorder": "normal"},
        margin={"t": 40},
    )
