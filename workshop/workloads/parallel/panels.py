"""Panels of a run of the workload: the timeline, the bytes, the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.report.cards import Card, Part, figure, line, paragraph, table
from workshop.report.machine_picture import rank_cell
from workshop.report.snapshot import Panel, Snapshot
from workshop.workloads.parallel import figures, schedules

BUBBLE = (
    "The last step. In empty places a stage does nothing; in a receive it waits until the other stage has sent. "
    "Numbers are those of micro-batches."
)
PACED = "The stages were paced: each waited, without holding a core, until the set time had passed."
FORMULA = "Calls and bytes of one step by the formulas of each cut; the ranks counted the same."
LEDGER = (
    "Planned by formulas, and counted from the arrays that the rank had in the first step. The process also holds "
    "Python, MPI and libraries."
)


def timelines(snapshot: Snapshot) -> list[Card]:
    """The measured timeline of the first pipeline; nothing without stages."""
    ranks = snapshot.metric("pipeline", list) or []
    if len(ranks) < 2 or schedules.FILE not in snapshot.artifacts:
        return []
    spans = schedules.read(snapshot.read(schedules.FILE))
    first = [span for rank in ranks for span in spans.get(rank, [])]
    idle, expected = snapshot.metric("idle", float), snapshot.metric("expected_idle", float)
    parts: list[Part] = [paragraph(line(BUBBLE, tone="about"))]
    if idle is not None and expected is not None:
        parts.append(
            paragraph(line(f"Idle for {words.percent(idle)} of the time; predicted {words.percent(expected)}."))
        )
    if snapshot.metric("paced", bool):
        parts.append(paragraph(line(PACED, tone="note")))
    parts.append(figure(figures.timeline(first)))
    return [Card("pipeline", "The pipeline", tuple(parts))]


def traffic(snapshot: Snapshot) -> list[Card]:
    """Calls and bytes of a step by kind, of all ranks."""
    ranks = snapshot.metric("traffic", list)
    if not ranks:
        return []
    kinds = {kind for rank in ranks for kind in rank}
    totals = {kind: [sum(rank.get(kind, (0, 0))[place] for rank in ranks) for place in (0, 1)] for kind in kinds}
    size, calls = (snapshot.metric(name, int) or 0 for name in ("bytes_difference", "calls_difference"))
    differs = f"The ranks counted {words.size(size)} and {words.count(calls, 'call')} more or fewer in all steps."
    parts = figures.traffic(totals, differs if size or calls else FORMULA)
    return [Card("traffic", "What a step exchanges", parts, half=True)]


def memory(snapshot: Snapshot) -> list[Card]:
    """Each rank's memory by use, planned and counted."""
    counted, planned = snapshot.metric("memory_counted", list), snapshot.metric("memory_planned", list)
    if not counted or not planned:
        return []
    peaks: Sequence[float] = snapshot.metric("memory_peak", list) or []
    rows: list[list[str | Mapping[str, Any]]] = [
        [rank_cell(rank), words.size(sum(plan.values())), words.size(sum(count.values())), words.size(peak)]
        for rank, (plan, count, peak) in enumerate(zip(planned, counted, peaks, strict=False))
    ]
    parts = (
        paragraph(line(LEDGER, tone="about")),
        figure(figures.memory(counted)),
        table(["Rank", "Planned", "Counted", "Process, peak"], rows),
    )
    return [Card("memory-ledger", "Memory of each rank", parts)]


def _version(snapshot: Snapshot) -> Any:
    return snapshot.version(schedules.FILE), snapshot.run.metrics


PANELS = (
    Panel("pipeline", timelines, _version, section="time", comparison=timelines),
    Panel("traffic", traffic, _version, comparison=traffic),
    Panel("memory-ledger", memory, _version, comparison=memory),
)
