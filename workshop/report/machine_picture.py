"""The machine with its ranks, as a card of a live page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import topology, words
from workshop.report import cards
from workshop.report.analysis.oversubscription import oversubscription
from workshop.report.cards import Card, Part, Tone
from workshop.report.figures import theme
from workshop.report.figures.machine import WIDTH, machine_picture, sharing_words

WAITING = (
    "Most threads of a process belong to Python, MPI and ipyparallel, and only wait. The threads per rank that the "
    "placement asks for do the computing."
)


def machine_card(
    title: str, machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None, threads: int, resting: str = ""
) -> list[Card]:
    """A card with the ranks that share cores, given so many threads for each rank, a picture and a table of ranks. The
    list is empty where there is nothing to draw. `resting` says that the ranks compute nothing now, so that sharing
    alarms nobody."""
    if not machine and not rank_map:
        return []
    parts: list[Part] = []
    tone: Tone
    begin, tone = ("Oversubscribed when all compute", "about") if resting else ("Oversubscribed", "alarm")
    sharing = sharing_words(oversubscription(rank_map, machine, threads))
    lines = [cards.line(f"{begin}: {sentence}", tone=tone) for sentence in sharing]
    if resting:
        lines.insert(0, cards.line(resting, tone="about"))
    if lines:
        parts.append(cards.words(*lines))
    parts.append(cards.figure(machine_picture(machine, rank_map, threads), WIDTH))
    if rows := [_rank(report, machine) for report in (rank_map or {}).get("ranks") or []]:
        parts.append(cards.table(("Rank", "Host", "May run on", "Threads in all", "Process"), rows))
        parts.append(cards.words(cards.line(WAITING, tone="about")))
    return [Card("machine", title, tuple(parts), tone="machine", later=True)]


def _rank(report: Mapping[str, Any], machine: Mapping[str, Any] | None) -> list[str | Mapping[str, str]]:
    threads = report.get("threads") or []
    units_seen = sorted({unit for thread in threads for unit in thread.get("units_seen") or []})
    host_machine = topology.machines(machine).get(report["host"]) or {}
    everywhere = len(report["units"]) == len(host_machine.get("units") or [])
    return [
        rank_cell(report["rank"]),
        report["host"],
        "any hardware thread (unbound)"
        if everywhere and len(report["units"]) > 1
        else f"{words.numbered('hardware thread', report['units'])} in {words.numbered('core', report['cores'])}",
        words.count(len(threads), "thread")
        + (f", seen on {words.numbered('hardware thread', units_seen)}" if units_seen else ""),
        str(report["pid"]),
    ]


def rank_cell(rank: int) -> Mapping[str, str]:
    """A rank in a table, with its colour."""
    return {"text": f"rank {rank}", "colour": theme.rank_colour(rank)}
