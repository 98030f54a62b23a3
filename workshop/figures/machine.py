"""The machine with its ranks: packages, caches, cores and processing units, and who may run where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import plotly.graph_objects as go

from workshop.analysis import words
from workshop.analysis.oversubscription import Crowd, oversubscription
from workshop.figures import theme
from workshop.figures.boxes import GAP, Box, arrange

FEW = 16  # units up to which each one has room for words
STRIPES = 8  # ranks that one unit can show as stripes
WIDTH = 900  # pixels that the picture is laid out for


class Scale(NamedTuple):
    """Pixels of a length of 1, across and down."""

    across: float
    down: float

    def font(self, wanted: float, height: float, characters: int = 0, width: float = 0.0) -> int:
        """The largest size up to `wanted` that fits into a height and, for so many characters, a width."""
        size = min(wanted, 0.8 * height * self.down)
        return max(int(min(size, width * self.across / (0.56 * characters)) if characters else size), 1)


@dataclass(frozen=True)
class Unit:
    """A processing unit: who may run on it, and how many of their threads were seen there."""

    host: str
    number: int
    ranks: tuple[int, ...]
    threads: Mapping[int, int]  # rank -> threads seen on this unit
    crowded: bool


def machine_picture(
    machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None, threads_per_rank: int = 1
) -> go.Figure:
    """Hosts, packages, NUMA nodes or caches, cores and units as nested boxes.

    A unit has the colour of the rank that may run there; of several ranks, stripes of all. Units that ranks can't help
    sharing have a thick red outline. Without a rank map the empty machine is drawn.
    """
    hosts = _hosts(machine, rank_map)
    if not hosts:
        return theme.nothing_yet("No machine yet")
    crowds = oversubscription(rank_map, machine, threads_per_rank)
    units = _units(hosts, rank_map, crowds)
    outer = Box("all", children=[_host_box(host, rows, machine, units) for host, rows in hosts.items()])
    few = len(units) <= FEW
    for box in outer.everything():
        if box.kind == "unit":
            box.width = max(3.2 / max(len(units), 2), 1.0) if few else 1.0
        elif box.title:
            box.head = 0.3 if few or box.kind == "core" else 0.6
    arrange(outer, aspect=3.4 if few else 2.6)
    height = round(max(190, min(WIDTH * outer.height / outer.width, 360 if few else 560)))
    scale = Scale(WIDTH / outer.width, height / outer.height)
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for box in outer.everything():
        if box.kind == "unit":
            shapes += _unit_shapes(box)
            notes += _unit_words(box, scale) if few else _unit_number(box, scale)
        elif box.kind != "all":
            shapes.append(_frame(box))
            if box.title:
                notes.append(_title(box, scale))
    leaves = [box for box in outer.everything() if box.kind == "unit"]
    hover = go.Scatter(
        x=[box.x + box.width / 2 for box in leaves],
        y=[box.y + box.height / 2 for box in leaves],
        mode="markers",
        marker={"opacity": 0, "size": 30},
        hovertext=[_hover(box.content) for box in leaves],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    hidden = {"visible": False, "fixedrange": True}
    return theme.figure(
        [hover],
        shapes=shapes,
        annotations=notes,
        showlegend=False,
        height=height,
        xaxis={**hidden, "range": [0, outer.width]},
        yaxis={**hidden, "range": [outer.height, 0]},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
    )


def sharing_words(crowds: Iterable[Crowd]) -> list[str]:
    """What is crowded, a sentence for each crowd."""
    said = []
    for crowd in crowds:
        where, who = words.numbered("unit", crowd.units), words.numbered("rank", crowd.ranks)
        share = "share" if len(crowd.ranks) > 1 else "has to share"
        said.append(f"{who[0].upper()}{who[1:]} {share} {where} of {crowd.host}: {crowd.threads} threads.")
    return said


def _hosts(machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None) -> dict[str, list[Mapping[str, Any]]]:
    """The units of each host. Of a host whose machine isn't known, those that ranks may run on."""
    hosts: dict[str, list[Mapping[str, Any]]] = {}
    if machine and machine.get("units"):
        hosts[machine["host"]] = list(machine["units"])
    guessed: dict[str, set[int]] = defaultdict(set)
    for report in (rank_map or {}).get("ranks") or []:
        if report["host"] not in hosts:
            guessed[report["host"]].update(report["units"])
    for host, numbers in guessed.items():
        hosts[host] = [{"unit": n, "core": n, "package": 0, "numa": 0, "l3": 0} for n in sorted(numbers)]
    return hosts


def _units(
    hosts: Mapping[str, list[Mapping[str, Any]]], rank_map: Mapping[str, Any] | None, crowds: Iterable[Crowd]
) -> dict[tuple[str, int], Unit]:
    ranks: dict[tuple[str, int], list[int]] = defaultdict(list)
    seen: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for report in (rank_map or {}).get("ranks") or []:
        for unit in report["units"]:
            ranks[report["host"], unit].append(report["rank"])
        for thread in report.get("threads") or []:
            for unit in thread.get("units_seen") or []:
                seen[report["host"], unit][report["rank"]] += 1
    crowded = {(crowd.host, unit) for crowd in crowds for unit in crowd.units}
    return {
        key: Unit(*key, tuple(ranks[key]), dict(seen[key]), key in crowded)
        for host, rows in hosts.items()
        for row in rows
        for key in [(host, row["unit"])]
    }


def _host_box(
    host: str,
    rows: list[Mapping[str, Any]],
    machine: Mapping[str, Any] | None,
    units: Mapping[tuple[str, int], Unit],
) -> Box:
    def split(some: list[Mapping[str, Any]], key: str) -> list[tuple[int, list[Mapping[str, Any]]]]:
        return [(n, [row for row in some if row[key] == n]) for n in sorted({row[key] for row in some})]

    def cores(some: list[Mapping[str, Any]]) -> list[Box]:
        return [
            Box("core", f"core {core}", [Box("unit", content=units[host, row["unit"]]) for row in of_core])
            for core, of_core in split(some, "core")
        ]

    def groups(some: list[Mapping[str, Any]]) -> list[Box]:
        """NUMA nodes if a package has several, else last-level caches if it has several, else its cores."""
        for key, word in (("numa", "NUMA node"), ("l3", "L3 cache")):
            parts = split(some, key)
            if len(parts) > 1:
                return [Box("group", f"{word} {n}", cores(of_group)) for n, of_group in parts]
        return cores(some)

    known = machine if machine and machine["host"] == host else {}
    memory = known.get("memory_bytes")
    title = " · ".join(filter(None, [host, known.get("model"), f"{memory / 2**30:.0f} GiB" if memory else None]))
    packages = [Box("package", f"package {n}", groups(of_package)) for n, of_package in split(rows, "package")]
    return Box("host", title, packages)


def _rectangle(x: float, y: float, width: float, height: float, **style: Any) -> dict[str, Any]:
    return {"type": "rect", "x0": x, "y0": y, "x1": x + width, "y1": y + height, "layer": "below", **style}


def _frame(box: Box) -> dict[str, Any]:
    fill = {"host": theme.PANEL, "package": theme.PAPER, "group": theme.PANEL, "core": theme.PAPER}[box.kind]
    return _rectangle(box.x, box.y, box.width, box.height, fillcolor=fill, line={"color": "#b9c5cf", "width": 1.5})


def _unit_shapes(box: Box) -> list[dict[str, Any]]:
    unit: Unit = box.content
    shown = unit.ranks[:STRIPES]
    none = {"width": 0}
    shapes = [_rectangle(box.x, box.y, box.width, box.height, fillcolor="#e6ebf0", line=none)]
    for number, rank in enumerate(shown):
        stripe = box.width / len(shown)
        colour = theme.rank_colour(rank)
        shapes.append(_rectangle(box.x + number * stripe, box.y, stripe, box.height, fillcolor=colour, line=none))
    edge = {"color": theme.ALARM, "width": 5} if unit.crowded else {"color": theme.PAPER, "width": 1}
    shapes.append(_rectangle(box.x, box.y, box.width, box.height, line=edge))
    return shapes


def _text(x: float, y: float, text: str, size: int, colour: str, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": size, "color": colour}, **more}


def _title(box: Box, scale: Scale) -> dict[str, Any]:
    wanted = {"host": 16, "package": 15}.get(box.kind, 14)
    size = scale.font(wanted, box.head, len(box.title), box.width - GAP)
    colour = theme.INK if box.kind == "host" else theme.MUTED
    return _text(box.x + GAP, box.y + (box.head + GAP) / 2, box.title, size, colour, xanchor="left", yanchor="middle")


def _unit_words(box: Box, scale: Scale) -> list[dict[str, Any]]:
    """Each rank's name and the threads seen there, stripe by stripe, and the unit's number below."""
    unit: Unit = box.content
    middle = box.x + box.width / 2
    below = f"unit {unit.number}" + (" · shared" if unit.crowded else "" if unit.ranks else " · idle")
    size = scale.font(14, 0.25, len(below), box.width)
    notes = [_text(middle, box.y + 0.84, below, size, theme.INK, bgcolor="rgba(255,255,255,0.88)", borderpad=1)]
    if not unit.ranks:
        notes[0].pop("bgcolor")
        return notes
    shown = unit.ranks[:STRIPES]
    stripe = box.width / len(shown)
    wordy = stripe * scale.across > 58
    for position, rank in enumerate(shown):
        x = box.x + (position + 0.5) * stripe
        colour = theme.text_on(theme.rank_colour(rank))
        name = f"rank {rank}" if wordy else str(rank)
        notes.append(_text(x, box.y + 0.27, f"<b>{name}</b>", scale.font(18, 0.34, len(name) + 1, stripe), colour))
        threads = words.count(unit.threads.get(rank, 0), "thread")
        if rank in unit.threads and wordy:
            notes.append(_text(x, box.y + 0.55, threads, scale.font(15, 0.25, len(threads), stripe), colour))
    if len(unit.ranks) > STRIPES:
        notes.append(_text(middle, box.y + 0.57, f"and {len(unit.ranks) - STRIPES} more", size, theme.INK))
    return notes


def _unit_number(box: Box, scale: Scale) -> list[dict[str, Any]]:
    """On a large machine only the rank, or how many share the unit."""
    unit: Unit = box.content
    if not unit.ranks:
        return []
    colour = theme.text_on(theme.rank_colour(unit.ranks[0]))
    label = str(unit.ranks[0]) if len(unit.ranks) == 1 else f"{len(unit.ranks)}×"
    size = scale.font(14, 0.9, len(label) + 1, box.width)
    return [_text(box.x + box.width / 2, box.y + box.height / 2, f"<b>{label}</b>", size, colour)]


def _hover(unit: Unit) -> str:
    lines = [f"<b>unit {unit.number}</b> of {unit.host}"]
    if not unit.ranks:
        lines.append("no rank may run here")
    for rank in unit.ranks:
        threads = unit.threads.get(rank, 0)
        lines.append(f"rank {rank} may run here" + (f", {words.count(threads, 'thread')} seen" if threads else ""))
    if unit.crowded:
        lines.append("<b>oversubscribed: these ranks have to share</b>")
    return "<br>".join(lines)
