"""Panels on the ranks of every run: the curves of their events, their time use, the task stream, threads and memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.extension import Workload
from workshop.report.analysis.balance import balance
from workshop.report.analysis.threads import KINDS, PREFIXES, kinds_of, openmp_why, sentences
from workshop.report.cards import Card, Part, about, figure, fold, line, paragraph, table
from workshop.report.figures import marks, stream, theme
from workshop.report.figures.bars import rank_times
from workshop.report.figures.line import curve
from workshop.report.figures.line import memory as drawn_memory
from workshop.report.snapshot import Snapshot

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
    names = [f"rank {rank}{what}" for rank in range(len(censuses)) for what in ("", ", worked")]
    counts = {group: _counts(censuses, kinds) for group, (kinds, _) in GROUPS.items()}
    named = {kind for kinds, _ in GROUPS.values() for kind in kinds}
    counts[REST] = _counts(censuses, [kind for kind in kinds_of(censuses) if kind not in named])
    counts = {group: values for group, values in counts.items() if any(values)}
    colours = {group: colour for group, (_, colour) in GROUPS.items()} | {REST: theme.REST}
    complete = len(cores) == len(censuses) and all(cores)
    return marks.stacked(
        names,
        counts,
        colours,
        "",
        axis="threads",
        anchor="start",  # the mark at the cores is at the end of a part
        more=_core_marks(names, [number for number in cores for _ in range(2)]) if complete else (),
    )


def _counts(censuses: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> list[int]:
    """How many threads of some kinds each rank has and how many worked, in turns."""
    return [
        sum(int((census.get(kind) or {}).get(name) or 0) for kind in kinds)
        for census in censuses
        for name in ("count", "busy")
    ]


def _core_marks(names: Sequence[str], cores: Sequence[int]) -> list[go.Scatter]:
    """A line across each bar, on a light ground, so that it can be seen on any colour."""
    hover = f"%{{y}}<br>{CORES}: %{{x}}<extra></extra>"
    return [
        marks.points(
            cores,
            names,
            colour,
            hover if named else "",
            name=CORES,
            showlegend=named,
            marker={"symbol": "line-ns", "size": 34, "line": {"width": width, "color": colour}},
        )
        for width, colour, named in ((9, theme.PAPER, False), (4, theme.ALARM, True))
    ]


CURVES = 4  # as many names of events get a curve where the workload doesn't say which
HELD_OUT = "held-out "  # begins the names of what belongs to another curve, as its points
NOTES = {"spread": "How far the ranks' weights lie apart, relative to their size; 0: all have the same."}
TALL, LOW = 300, 200  # pixels


def curves(snapshot: Snapshot) -> list[Card]:
    """Curves in the workload's order, and the ranks' times beside the last one that would stand alone."""
    names = curve_names(snapshot.workload, snapshot.totals)
    notes = {**NOTES, **(snapshot.workload.notes if snapshot.workload is not None else {})}
    cards = []
    for number, name in enumerate(names):
        row_of_its_own = len(names) % 2 == 0 and number == len(names) - 1  # such a curve needs less height
        height = LOW if row_of_its_own else TALL
        plot = curve(snapshot.series(name), snapshot.series(HELD_OUT + name), snapshot.began, height)
        note = [about(notes[name])] if name in notes else []
        parts = (*note, figure(plot))
        cards.append(Card(name, name[0].upper() + name[1:], parts, half=True, switch=number == 0))
    beside = len(cards) - 1 if len(cards) > 1 and len(cards) % 2 == 0 else len(cards)
    return [*cards[:beside], *times(snapshot), *cards[beside:]]


def times(snapshot: Snapshot) -> list[Card]:
    """Where each rank's time went, so far."""
    spent = balance(snapshot.totals, snapshot.ranks, snapshot.run.metrics)
    if spent is None:
        return []
    return [Card("times", "Where each rank's time went", (figure(rank_times(spent)),), half=True)]


def curve_names(workload: Workload | None, names: Iterable[str]) -> list[str]:
    """The events with a curve: the ones that the workload names, in its order, else the first in the alphabet."""
    names_told = set(names)
    if workload is not None and workload.curves is not None:
        return [name for name in workload.curves if name in names_told or HELD_OUT + name in names_told]
    curves = (name for name in names_told if name.removeprefix(HELD_OUT) not in names_told - {name})
    return sorted(name for name in curves if not name.startswith("time."))[:CURVES]


RECENT = 2000  # events that are looked at


def task_stream(snapshot: Snapshot) -> list[Card]:
    """Show what each rank has done in the last seconds and does now."""
    run, names = snapshot.run, [name for name in snapshot.totals if name.startswith(stream.PREFIX)]
    phases = lasting(snapshot)
    # Also some events behind a past moment: they tell what ranks were in the middle of then.
    events = snapshot.store.events(run.id, names, after=max(snapshot.events - RECENT, 0), limit=2 * RECENT)
    recent = stream.stream(events, snapshot.ranks, phases, None if run.ended else min(time.time(), snapshot.until))
    if recent is None:
        return []
    every_phase = [*(name.removeprefix(stream.PREFIX) for name in names), *(phase for phase, _ in phases.values())]
    plot = stream.task_stream(recent, list(dict.fromkeys(every_phase)), run.started_at or recent.begin)
    return [Card("stream", "Task stream", (figure(plot, label=f"Task stream. {recent.sentence}"),))]


def lasting(snapshot: Snapshot) -> stream.Phases:
    """The phases that ranks are in for some time now."""
    stored = {} if snapshot.run.ended else (snapshot.run.activity or {}).get("phases", {})
    return {int(rank): tuple(phase) for rank, phase in stored.items() if phase and int(rank) < snapshot.ranks}


MEMORY = "memory"  # the event
ABOUT_THREADS = (
    "Counted while it trained. A thread worked if it was at work for a hundredth of the time at least, and for half as "
    "long as those that worked longer."
)


def threads(snapshot: Snapshot) -> list[Card]:
    """Sentences on the threads, how many each rank has, and what each kind did."""
    censuses = snapshot.metric("threads", list)
    if not censuses or None in censuses:
        return []
    reports = (snapshot.run.rank_map or {}).get("ranks") or []
    cores = [len(report.get("cores") or []) for report in reports]
    lines = [line(sentence) for sentence in sentences(snapshot.run)]
    variables = [name for name in snapshot.run.placement.get("environment") or {} if name.startswith(PREFIXES)]
    lines += [line(openmp_why(snapshot.run, name), tone="note") for name in variables[:1]]
    parts: list[Part] = [paragraph(*lines)] if lines else []
    parts += [figure(rank_threads(censuses, cores)), _by_kind(censuses), fold("What counts as work", ABOUT_THREADS)]
    return [Card("threads", "Threads against cores", tuple(parts))]


def _by_kind(censuses: list[Mapping[str, Any]]) -> Part:
    rows = []
    for kind in kinds_of(censuses):
        of_kind = [census[kind] for census in censuses if kind in census]
        count, busy, seconds = (sum(entry[name] for entry in of_kind) for name in ("count", "busy", "seconds"))
        waited = [entry["waited"] for entry in of_kind if entry.get("waited") is not None]
        waits = words.seconds(sum(waited)) if waited else "–"
        rows.append([words.capital(KINDS.get(kind, kind)), str(count), str(busy), words.seconds(seconds), waits])
    return table(["Kind, all ranks", "Threads", "Worked", "Processor time", "Waited for a core"], rows)


def memory(snapshot: Snapshot) -> list[Card]:
    """A line for each rank that told more than once how much it holds."""
    began = snapshot.began or 0.0
    lines = {
        f"rank {series.rank}": ([round(max(at - began, 0.0), 2) for at in series.times], series.highs)
        for series in (snapshot.series(MEMORY) if MEMORY in snapshot.totals else ())
        if len(series.times) > 1
    }
    return [Card("memory", "Memory of the ranks", (figure(drawn_memory(lines)),), half=True)] if lines else []
