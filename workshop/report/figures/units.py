"""A processing unit in the machine picture: its colours, its words, and the text beside the mouse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from workshop.core import words
from workshop.report.figures import theme
from workshop.report.figures.boxes import Box

STRIPES = 8  # ranks that one unit can show as stripes
FRAMES = 3  # ranks that one unit can show as missed
NOT_MEANT = "not meant here"


class Scale(NamedTuple):
    """Pixels of a length of 1, across and down."""

    across: float
    down: float

    def font(self, largest: float, height: float, characters: int = 0, width: float = 0.0) -> int:
        """The largest size up to `largest` that fits into a height and, for so many characters, a width."""
        size = min(largest, 0.8 * height * self.down)
        return max(int(min(size, width * self.across / (0.56 * characters)) if characters else size), 1)


@dataclass(frozen=True)
class Unit:
    """A processing unit: the ranks that may run on it, and how many of their threads were seen there. With a prediction
    also the ranks that weren't meant to run here, and the ones that were meant to but may not."""

    host: str
    number: int
    ranks: tuple[int, ...]
    threads: Mapping[int, int]  # rank -> threads seen on this unit
    crowded: bool
    strangers: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()


def rectangle(x: float, y: float, width: float, height: float, **style: Any) -> dict[str, Any]:
    return {"type": "rect", "x0": x, "y0": y, "x1": x + width, "y1": y + height, "layer": "below", **style}


def text(x: float, y: float, words: str, size: int, colour: str, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "text": words, "showarrow": False, "font": {"size": size, "color": colour}, **more}


def unit_shapes(box: Box, few: bool) -> list[dict[str, Any]]:
    unit: Unit = box.content
    ranks = unit.ranks[:STRIPES]
    none = {"width": 0}
    shapes = [rectangle(box.x, box.y, box.width, box.height, fillcolor=theme.EMPTY, line=none)]
    for number, rank in enumerate(ranks):
        stripe = box.width / len(ranks)
        colour = theme.rank_colour(rank)
        shapes.append(rectangle(box.x + number * stripe, box.y, stripe, box.height, fillcolor=colour, line=none))
        if few and rank in unit.strangers:
            edge = {"color": theme.INK, "width": 2.5, "dash": "dot"}
            shapes.append(rectangle(*_inside(box.x + number * stripe, box.y, stripe, box.height, 1), line=edge))
    for number, rank in enumerate(unit.missed[:FRAMES]):
        edge = {"color": theme.rank_colour(rank), "width": 4 if few else 2, "dash": "dash"}
        shapes.append(rectangle(*_inside(box.x, box.y, box.width, box.height, number + 1), line=edge))
    edge = {"color": theme.ALARM, "width": 5} if unit.crowded else {"color": theme.PAPER, "width": 1}
    shapes.append(rectangle(box.x, box.y, box.width, box.height, line=edge))
    return shapes


def _inside(x: float, y: float, width: float, height: float, depth: int) -> tuple[float, float, float, float]:
    """A rectangle within another one, a little smaller for each step of depth."""
    pad = depth * min(0.07, width / 10)
    return x + pad, y + pad, width - 2 * pad, height - 2 * pad


def unit_words(box: Box, scale: Scale) -> list[dict[str, Any]]:
    """Each rank's name and the threads seen there, stripe by stripe, and the unit's number below."""
    unit: Unit = box.content
    middle = box.x + box.width / 2
    state = " · shared" if unit.crowded else "" if unit.ranks else " · idle"
    if unit.missed:
        state = f" · meant for {words.numbered('rank', unit.missed[:FRAMES])}"
    below = f"unit {unit.number}{state}"
    size = scale.font(14, 0.25, len(below), box.width)
    notes = [text(middle, box.y + 0.84, below, size, theme.INK, bgcolor="rgba(255,255,255,0.88)", borderpad=1)]
    if not unit.ranks:
        notes[0].pop("bgcolor")
        return notes
    ranks = unit.ranks[:STRIPES]
    stripe = box.width / len(ranks)
    wordy = stripe * scale.across > 58
    for position, rank in enumerate(ranks):
        x = box.x + (position + 0.5) * stripe
        colour = theme.text_on(theme.rank_colour(rank))
        name = f"rank {rank}" if wordy else str(rank)
        notes.append(text(x, box.y + 0.27, f"<b>{name}</b>", scale.font(18, 0.34, len(name) + 2, stripe), colour))
        threads = words.count(unit.threads.get(rank, 0), "thread")
        if rank in unit.strangers and stripe * scale.across > 96:
            notes.append(text(x, box.y + 0.55, NOT_MEANT, scale.font(15, 0.25, len(NOT_MEANT) + 1, stripe), colour))
        elif rank in unit.threads and wordy:
            notes.append(text(x, box.y + 0.55, threads, scale.font(15, 0.25, len(threads), stripe), colour))
    if len(unit.ranks) > STRIPES:
        notes.append(text(middle, box.y + 0.57, f"and {len(unit.ranks) - STRIPES} more", size, theme.INK))
    return notes


def unit_number(box: Box, scale: Scale) -> list[dict[str, Any]]:
    """On a large machine only the rank, or how many share the unit."""
    unit: Unit = box.content
    if not unit.ranks:
        return []
    colour = theme.text_on(theme.rank_colour(unit.ranks[0]))
    label = str(unit.ranks[0]) if len(unit.ranks) == 1 else f"{len(unit.ranks)}×"
    label += "!" if unit.strangers else ""
    size = scale.font(14, 0.9, len(label) + 1, box.width)
    return [text(box.x + box.width / 2, box.y + box.height / 2, f"<b>{label}</b>", size, colour)]


def hover_words(unit: Unit) -> str:
    lines = [f"<b>unit {unit.number}</b> of {unit.host}"]
    if not unit.ranks:
        lines.append("no rank may run here")
    for rank in unit.ranks:
        threads = unit.threads.get(rank, 0)
        threads_seen = f", {words.count(threads, 'thread')} seen" if threads else ""
        lines.append(
            f"rank {rank} may run here{threads_seen}{', but was not meant to' if rank in unit.strangers else ''}"
        )
    for rank in sorted(unit.threads.keys() - set(unit.ranks)):
        lines.append(f"{words.count(unit.threads[rank], 'thread')} of rank {rank} seen, which may not run here")
    lines += [f"rank {rank} was meant to run here, but may not" for rank in unit.missed]
    if unit.crowded:
        lines.append("<b>oversubscribed: these ranks have to share</b>")
    return "<br>".join(lines)
