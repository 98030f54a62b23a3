"""The machine with its ranks: packages, caches, cores and processing units with their colours and words, and who may
run where."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import plotly.graph_objects as go

from workshop.core import topology, words
from workshop.report.analysis.threads import Oversubscription, oversubscription
from workshop.report.figures import theme

GAP = 0.13  # between boxes, and from a box to what it holds; a processing unit is 1 high

RAGGED = 0.25  # strain of each place that stays empty in the last row


@dataclass
class Box:
    """A place in the picture; `x` and `y` are of its upper left corner, y grows downwards."""

    kind: str
    title: str = ""
    children: list[Box] = field(default_factory=list)
    content: Any = None
    head: float = 0.0  # room for the title, above what the box holds
    width: float = 1.0
    height: float = 1.0
    x: float = 0.0
    y: float = 0.0

    def everything(self) -> list[Box]:
        """This box and all that are in it, outer ones first."""
        return [self, *(inner for child in self.children for inner in child.everything())]


def arrange(box: Box, aspect: float) -> None:
    """Give a box and all in it their sizes and places; `aspect` is the width over the height to aim at. Boxes without
    children keep the size that they have."""
    _measure(box, aspect)
    for outer in box.everything():
        for child in outer.children:
            child.x, child.y = child.x + outer.x, child.y + outer.y


def _measure(box: Box, aspect: float) -> None:
    if not box.children:
        return
    for child in box.children:
        _measure(child, 1.0 if child.kind == "core" else aspect)
    # A core is a row of its units; other boxes take the number of columns that comes nearest to the aspect.
    count = len(box.children)

    def strain(columns: int) -> tuple[float, int]:
        width, height = _spread(box, columns)
        return abs(math.log(width / height / aspect)) + RAGGED * (-count % columns), -columns

    best = min([count] if box.kind == "core" else range(1, count + 1), key=strain)
    box.width, box.height = _spread(box, best)


def _spread(box: Box, columns: int) -> tuple[float, float]:
    """Put the children into rows; the size that the box then has."""
    width, top = 0.0, GAP + box.head
    for start in range(0, len(box.children), columns):
        x, row = GAP, box.children[start : start + columns]
        for child in row:
            child.x, child.y = x, top
            x += child.width + GAP
        width, top = max(width, x), top + max(child.height for child in row) + GAP
    return width, top


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


def _rectangle(x: float, y: float, width: float, height: float, **style: Any) -> dict[str, Any]:
    return {"type": "rect", "x0": x, "y0": y, "x1": x + width, "y1": y + height, "layer": "below", **style}


def unit_shapes(box: Box, few: bool) -> list[dict[str, Any]]:
    unit: Unit = box.content
    ranks = unit.ranks[:STRIPES]
    none = {"width": 0}
    shapes = [_rectangle(box.x, box.y, box.width, box.height, fillcolor=theme.EMPTY, line=none)]
    for number, rank in enumerate(ranks):
        stripe = box.width / len(ranks)
        colour = theme.rank_colour(rank)
        shapes.append(_rectangle(box.x + number * stripe, box.y, stripe, box.height, fillcolor=colour, line=none))
        if few and rank in unit.strangers:
            edge = {"color": theme.INK, "width": 2.5, "dash": "dot"}
            shapes.append(_rectangle(*_inside(box.x + number * stripe, box.y, stripe, box.height, 1), line=edge))
    for number, rank in enumerate(unit.missed[:FRAMES]):
        edge = {"color": theme.rank_colour(rank), "width": 4 if few else 2, "dash": "dash"}
        shapes.append(_rectangle(*_inside(box.x, box.y, box.width, box.height, number + 1), line=edge))
    edge = {"color": theme.ALARM, "width": 5} if unit.crowded else {"color": theme.PAPER, "width": 1}
    shapes.append(_rectangle(box.x, box.y, box.width, box.height, line=edge))
    return shapes


def _inside(x: float, y: float, width: float, height: float, depth: int) -> tuple[float, float, float, float]:
    """A rectangle within another one, a little smaller for each step of depth."""
    pad = depth * min(0.07, width / 10)
    return x + pad, y + pad, width - 2 * pad, height - 2 * pad


def unit_words(box: Box, scale: Scale, threads_per_rank: int) -> list[dict[str, Any]]:
    """Each rank's name and the threads seen there, stripe by stripe, and the unit's number below. Where more threads
    were seen than a rank computes with, most of them wait: their number would mislead."""
    unit: Unit = box.content
    middle = box.x + box.width / 2
    state = " · shared" if unit.crowded else "" if unit.ranks else " · idle"
    if unit.missed:
        state = f" · meant for {words.numbered('rank', unit.missed[:FRAMES])}"
    below = f"unit {unit.number}{state}"
    size = scale.font(14, 0.25, len(below), box.width)
    notes = [theme.note(middle, box.y + 0.84, below, size, theme.INK, bgcolor="rgba(255,255,255,0.88)", borderpad=1)]
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
        notes.append(theme.note(x, box.y + 0.27, f"<b>{name}</b>", scale.font(18, 0.34, len(name) + 2, stripe), colour))
        threads = words.count(unit.threads.get(rank, 0), "thread")
        if rank in unit.strangers and stripe * scale.across > 96:
            notes.append(
                theme.note(x, box.y + 0.55, NOT_MEANT, scale.font(15, 0.25, len(NOT_MEANT) + 1, stripe), colour)
            )
        elif wordy and 0 < unit.threads.get(rank, 0) <= threads_per_rank:
            size_here = scale.font(15, 0.25, len(threads), stripe)
            notes.append(theme.note(x, box.y + 0.55, threads, size_here, colour))
    if len(unit.ranks) > STRIPES:
        notes.append(theme.note(middle, box.y + 0.57, f"and {len(unit.ranks) - STRIPES} more", size, theme.INK))
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
    return [theme.note(box.x + box.width / 2, box.y + box.height / 2, f"<b>{label}</b>", size, colour)]


def hover_words(unit: Unit) -> str:
    lines = [f"<b>unit {unit.number}</b> of {unit.host}", *([] if unit.ranks else ["no rank may run here"])]
    counts = {rank: words.count(threads, "thread") for rank, threads in unit.threads.items()}
    for rank in unit.ranks:
        stranger = ", but was not meant to" if rank in unit.strangers else ""
        lines.append(f"rank {rank} may run here{f', {counts[rank]} seen' if rank in counts else ''}{stranger}")
    for rank in sorted(counts.keys() - set(unit.ranks)):
        lines.append(f"{counts[rank]} of rank {rank} seen, which may not run here")
    lines += [f"rank {rank} was meant to run here, but may not" for rank in unit.missed]
    if unit.crowded:
        lines.append("<b>oversubscribed: these ranks have to share</b>")
    return "<br>".join(lines)


FEW_UNITS = 16
GROUPS = (("numa", "NUMA node"), ("l3", "L3 cache"))  # of cores, within a package
MANY_UNITS = 64  # units from which on there is no room for anything but numbers
TIGHT = 0.5  # share of a core's width that its name may take; pictures are shown narrower than they are laid out
WIDTH = 900  # pixels that the picture is laid out for


def machine_picture(
    machine: Mapping[str, Any] | None,
    rank_map: Mapping[str, Any] | None,
    threads_per_rank: int = 1,
    predicted: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Hosts, packages, NUMA nodes or caches, cores and units as nested boxes; a unit has the colours of the ranks that
    may run there, and a thick red outline where they have to share it. `predicted` is the predicted rank map, with the
    same names of hosts: a misplaced rank is marked, and a dashed frame shows its predicted place."""
    hosts = _hosts(machine, rank_map)
    if not hosts:
        return theme.nothing_yet("No machine yet")
    crowds = oversubscription(rank_map, machine, threads_per_rank)
    units = _units(hosts, rank_map, crowds, predicted)
    machines = topology.machines(machine)
    outer = Box("all", children=[_host_box(host, rows, machines.get(host, {}), units) for host, rows in hosts.items()])
    few = len(units) <= FEW_UNITS  # each has room for words
    for box in outer.everything():
        if box.kind == "unit":
            box.width = max(3.2 / max(len(units), 2), 1.0) if few else 1.0
        elif box.title:
            box.head = 0.3 if few else 0.6 if box.kind != "core" else 0.45 if len(units) <= MANY_UNITS else 0.3
    arrange(outer, aspect=3.4 if few else 2.6)
    height = WIDTH * outer.height / outer.width
    height = round(max(190, min(height, 360)) if few else max(240, min(1.3 * height, 560)))
    scale = Scale(WIDTH / outer.width, height / outer.height)
    shapes, notes = [], []
    for box in outer.everything():
        if box.kind == "unit":
            shapes += unit_shapes(box, few)
            notes += unit_words(box, scale, threads_per_rank) if few else unit_number(box, scale)
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
        hovertext=[hover_words(box.content) for box in leaves],
        **theme.HOVER,
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


def sharing_words(crowds: Iterable[Oversubscription]) -> list[str]:
    """A sentence for each group of ranks that have to share."""
    return [
        f"{words.capital(words.numbered('rank', crowd.ranks))} {'share' if len(crowd.ranks) > 1 else 'has to share'} "
        f"{words.numbered('hardware thread', crowd.units)} of {crowd.host}: {crowd.threads} threads."
        for crowd in crowds
    ]


def _hosts(machine: Mapping[str, Any] | None, rank_map: Mapping[str, Any] | None) -> dict[str, list[Mapping[str, Any]]]:
    """The units of each host. For an unknown machine, the units where ranks may run."""
    hosts = {
        host: list(host_machine["units"])
        for host, host_machine in topology.machines(machine).items()
        if host_machine.get("units")
    }
    guessed: dict[str, set[int]] = defaultdict(set)
    for report in (rank_map or {}).get("ranks") or []:
        if report["host"] not in hosts:
            guessed[report["host"]].update(report["units"])
    for host, numbers in guessed.items():
        hosts[host] = [{"unit": n, "core": n, "package": 0, "numa": 0, "l3": 0} for n in sorted(numbers)]
    return hosts


def _units(
    hosts: Mapping[str, list[Mapping[str, Any]]],
    rank_map: Mapping[str, Any] | None,
    crowds: Iterable[Oversubscription],
    predicted: Mapping[str, Any] | None,
) -> dict[tuple[str, int], Unit]:
    ranks: dict[tuple[str, int], list[int]] = defaultdict(list)
    threads_seen: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for report in (rank_map or {}).get("ranks") or []:
        for unit in report["units"]:
            ranks[report["host"], unit].append(report["rank"])
        for thread in report.get("threads") or []:
            for unit in (thread.get("units_seen") or [])[-1:]:  # each thread once, so that a rank's threads add up
                threads_seen[report["host"], unit][report["rank"]] += 1
    crowded = {(crowd.host, unit) for crowd in crowds for unit in crowd.units}
    planned: dict[tuple[str, int], list[int]] = defaultdict(list)
    foreseen = {report["rank"]: report for report in (predicted or {}).get("ranks") or [] if report["units"]}
    for rank, report in foreseen.items():
        for unit in report["units"]:
            planned[report["host"], unit].append(rank)
    units = {}
    for key in ((host, row["unit"]) for host, rows in hosts.items() for row in rows):
        strangers = tuple(rank for rank in ranks[key] if rank in foreseen and rank not in planned[key])
        missed = tuple(rank for rank in planned[key] if rank not in ranks[key])
        units[key] = Unit(*key, tuple(ranks[key]), dict(threads_seen[key]), key in crowded, strangers, missed)
    return units


def _host_box(
    host: str, rows: list[Mapping[str, Any]], host_machine: Mapping[str, Any], units: Mapping[tuple[str, int], Unit]
) -> Box:
    def split(some: list[Mapping[str, Any]], key: str) -> list[tuple[int, list[Mapping[str, Any]]]]:
        return [(n, [row for row in some if row[key] == n]) for n in sorted({row[key] for row in some})]

    def cores(some: list[Mapping[str, Any]]) -> list[Box]:
        return [
            Box("core", f"core {core}", [Box("unit", content=units[host, row["unit"]]) for row in of_core])
            for core, of_core in split(some, "core")
        ]

    def groups(some: list[Mapping[str, Any]], kinds: tuple[tuple[str, str], ...] = GROUPS) -> list[Box]:
        """NUMA nodes and last-level caches where there are several, the fewer ones outside; in them cores."""
        parts = {key: split(some, key) for key, _ in kinds}
        several = sorted((kind for kind in kinds if len(parts[kind[0]]) > 1), key=lambda kind: len(parts[kind[0]]))
        if not several:
            return cores(some)
        (key, word), *inner = several
        return [Box("group", f"{word} {n}", groups(of_group, tuple(inner))) for n, of_group in parts[key]]

    memory = host_machine.get("memory_bytes")
    title = " · ".join(filter(None, [host, host_machine.get("model"), f"{memory / 2**30:.0f} GiB" if memory else None]))
    packages = [Box("package", f"package {n}", groups(of_package)) for n, of_package in split(rows, "package")]
    return Box("host", title, packages)


def _frame(box: Box) -> dict[str, Any]:
    fill = {"host": theme.PANEL, "package": theme.PAPER, "group": theme.PANEL, "core": theme.PAPER}[box.kind]
    return _rectangle(box.x, box.y, box.width, box.height, fillcolor=fill, line={"color": theme.REST, "width": 1.5})


def _title(box: Box, scale: Scale) -> dict[str, Any]:
    largest, words = {"host": 16, "package": 15}.get(box.kind, 14), box.title
    if box.kind == "core" and scale.font(largest, box.head, len(words), TIGHT * box.width) < largest:
        words = words.replace("core ", "c")  # which fits where the picture is narrow, too
    size = scale.font(largest, box.head, len(words), box.width - GAP)
    colour = theme.INK if box.kind == "host" else theme.MUTED
    return theme.note(box.x + GAP, box.y + (box.head + GAP) / 2, words, size, colour, xanchor="left", yanchor="middle")
