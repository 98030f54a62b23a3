"""The ranks' threads by kind, the threads that worked, and the cores that they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.report.analysis.threads import KINDS
from workshop.report.figures import marks, theme

NOTHING = "No rank has told what threads it has"
# What is drawn as one, from left to right: names of kinds, and a colour. Those that compute come first.
GROUPS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "intra-op": (("intra-op",), theme.PHASES["compute"]),
    "inter-op": (("inter-op",), theme.RANKS[5]),
    "main": (("main",), theme.RANKS[2]),
    "OpenMP, BLAS": (("openmp", "blas", "tbb", "numba"), theme.RANKS[1]),
    "Horovod": (("horovod",), theme.RANKS[3]),
    "MPI": (("mpi",), theme.RANKS[4]),
}
REST = "others"
CORES = "its cores"


def rank_threads(censuses: Sequence[Mapping[str, Any]], cores: Sequence[int] = ()) -> go.Figure:
    """Two stacked bars for each rank by kind, for all threads and for the ones that worked, and a mark at its known
    cores. `censuses` are a run's metric `threads`, see `engine.threads`."""
    if not censuses:
        return theme.nothing_yet(NOTHING)
    names = [f"rank {rank}{what}" for rank in range(len(censuses)) for what in ("", ", worked")]
    counts = {group: _counts(censuses, kinds) for group, (kinds, _) in GROUPS.items()}
    named = {kind for kinds, _ in GROUPS.values() for kind in kinds}
    all_kinds = dict.fromkeys([*KINDS, *(kind for census in censuses for kind in census)])
    counts[REST] = _counts(censuses, [kind for kind in all_kinds if kind not in named])
    longest = max(sum(parts) for parts in zip(*counts.values(), strict=True))
    counts = {group: values for group, values in counts.items() if any(values)}
    colours = {group: colour for group, (_, colour) in GROUPS.items()} | {REST: theme.REST}
    complete = len(cores) == len(censuses) and all(cores)
    return marks.stacked(
        names,
        counts,
        {group: {"color": colours[group], "line": {"width": 0}} for group in counts},
        {group: f"%{{y}}<br>{group}: %{{x}}<extra></extra>" for group in counts},
        {
            group: [str(value) if value >= 0.03 * longest and value else "" for value in values]
            for group, values in counts.items()
        },
        ("intra-op",),
        anchor="start",  # the mark at the cores is at the end of a part
        more=_core_marks(names, [number for number in cores for _ in range(2)]) if complete else (),
        bargap=0.25,
        height=max(320, min(150 + 40 * len(names), 900)),
        xaxis={"title": {"text": "threads"}, "nticks": 8, "rangemode": "tozero", "tickformat": "d"},
        margin={"t": 64},
    )


def _counts(censuses: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> list[int]:
    """How many threads of some kinds each rank has and how many worked, in turns."""
    return [
        sum(int((census.get(kind) or {}).get(name) or 0) for kind in kinds)
        for census in censuses
        for name in ("count", "busy")
    ]


def _mark(width: int, colour: str) -> dict[str, Any]:
    return {"symbol": "line-ns", "size": 34, "line": {"width": width, "color": colour}}


def _core_marks(names: Sequence[str], cores: Sequence[int]) -> list[go.Scatter]:
    """A line across each bar, on a light ground, so that it can be seen on any colour."""
    halo, line = _mark(9, theme.PAPER), _mark(4, theme.ALARM)
    where = {"y": list(names), "x": list(cores), "mode": "markers"}
    return [
        go.Scatter(**where, marker=halo, showlegend=False, hoverinfo="skip"),
        go.Scatter(**where, marker=line, name=CORES, hovertemplate=f"%{{y}}<br>{CORES}: %{{x}}<extra></extra>"),
    ]
