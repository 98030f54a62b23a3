"""Panels on the ranks' processes: their threads by kind against cores, and their memory over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis import openmp
from workshop.report.analysis.threads import KINDS, sentences
from workshop.report.cards import Card, Part, figure, fold, line, table
from workshop.report.cards import words as text
from workshop.report.figures.memory import memory as drawn_memory
from workshop.report.figures.threads import rank_threads
from workshop.report.snapshot import Snapshot

MEMORY = "memory"  # the event
ABOUT_THREADS = (
    "Counted while it trained. A thread worked if it was at work for a hundredth of the time at least, and for half as "
    "long as those that worked longer."
)


def threads(snapshot: Snapshot) -> list[Card]:
    """Sentences on the threads, how many each rank has, and what each kind did."""
    censuses = snapshot.metric("threads", list)
    if not censuses or not all(isinstance(census, Mapping) for census in censuses):
        return []
    reports = (snapshot.run.rank_map or {}).get("ranks") or []
    cores = [len(report.get("cores") or []) for report in reports]
    lines = [line(sentence) for sentence in sentences(snapshot.run)]
    lines += [line(openmp.why(snapshot.run, name), tone="note") for name in _openmp_variables(snapshot)]
    parts: list[Part] = [text(*lines)] if lines else []
    parts += [figure(rank_threads(censuses, cores)), _by_kind(censuses), fold("What counts as work", ABOUT_THREADS)]
    return [Card("threads", "Threads against cores", tuple(parts), later=True)]


def _openmp_variables(snapshot: Snapshot) -> list[str]:
    """Variables for OpenMP that somebody has set on the ranks by name."""
    return [name for name in snapshot.run.placement.get("environment") or {} if openmp.is_openmp(name)][:1]


def _by_kind(censuses: list[Mapping[str, Any]]) -> Part:
    rows = []
    for kind in dict.fromkeys([*KINDS, *(kind for census in censuses for kind in census)]):
        of_kind = [census[kind] for census in censuses if kind in census]
        if of_kind:
            waited = [entry["waited"] for entry in of_kind if entry.get("waited") is not None]
            rows.append(
                [
                    words.capital(KINDS.get(kind, kind)),
                    str(sum(entry["count"] for entry in of_kind)),
                    str(sum(entry["busy"] for entry in of_kind)),
                    words.seconds(sum(entry["seconds"] for entry in of_kind)),
                    words.seconds(sum(waited)) if waited else "–",
                ]
            )
    return table(["Kind, all ranks", "Threads", "Worked", "Processor time", "Waited for a core"], rows)


def memory(snapshot: Snapshot) -> list[Card]:
    """A line for each rank that told more than once how much it holds."""
    if MEMORY not in snapshot.totals or snapshot.began is None:
        return []
    all_series = [series for series in snapshot.series(MEMORY) if len(series.times) > 1]
    if not all_series:
        return []
    lines = {
        f"rank {series.rank}": ([round(max(at - snapshot.began, 0.0), 2) for at in series.times], series.highs)
        for series in all_series
    }
    return [Card("memory", "Memory of the ranks", (figure(drawn_memory(lines)),), half=True)]
