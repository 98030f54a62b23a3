"""Panels on events of ranks: curves, and the time use of each rank."""

from __future__ import annotations

from collections.abc import Iterable

from workshop.extension import Workload
from workshop.report.analysis.balance import balance
from workshop.report.cards import Card, figure, line, words
from workshop.report.figures.curves import curve
from workshop.report.figures.times import rank_times
from workshop.report.snapshot import Snapshot

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
        height = _height(number, len(names))
        plot = curve(snapshot.series(name), snapshot.series(HELD_OUT + name), snapshot.began, height)
        note = [words(line(notes[name], tone="about"))] if name in notes else []
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
    candidates = [
        name
        for name in names_told
        if not name.startswith("time.") and name.removeprefix(HELD_OUT) not in names_told - {name}
    ]
    return sorted(candidates)[:CURVES]


def _height(number: int, curves: int) -> int:
    """A curve that has a row of its own needs less height."""
    return LOW if curves % 2 == 0 and number == curves - 1 else TALL
