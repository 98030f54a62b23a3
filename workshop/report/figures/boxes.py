"""Boxes in boxes, arranged in grids: the geometry of the machine picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
    _place(box, 0.0, 0.0)


def _measure(box: Box, aspect: float) -> None:
    if not box.children:
        return
    for child in box.children:
        _measure(child, 1.0 if child.kind == "core" else aspect)
    # A core is a row of its units; other boxes take the number of columns that comes nearest to the aspect.
    count = len(box.children)
    choices = [count] if box.kind == "core" else range(1, count + 1)
    sizes = {columns: _grid(box.children, columns, box.head) for columns in choices}
    best = min(sizes, key=lambda columns: (_strain(sizes[columns], aspect) + RAGGED * (-count % columns), -columns))
    box.width, box.height = sizes[best]
    _spread(box, best)


def _strain(size: tuple[float, float], aspect: float) -> float:
    """How far a box is from the aspect to aim at; 0: it has it."""
    width, height = size
    return abs(math.log(width / height / aspect))


def _rows(children: Sequence[Box], columns: int) -> list[Sequence[Box]]:
    return [children[start : start + columns] for start in range(0, len(children), columns)]


def _grid(children: Sequence[Box], columns: int, head: float) -> tuple[float, float]:
    rows = _rows(children, columns)
    width = max(sum(child.width for child in row) + GAP * (len(row) + 1) for row in rows)
    height = sum(max(child.height for child in row) for row in rows) + GAP * (len(rows) + 1)
    return width, height + head


def _spread(box: Box, columns: int) -> None:
    """Places of the children within their box."""
    top = GAP + box.head
    for row in _rows(box.children, columns):
        x = GAP
        for child in row:
            child.x, child.y = x, top
            x += child.width + GAP
        top += max(child.height for child in row) + GAP


def _place(box: Box, x: float, y: float) -> None:
    box.x += x
    box.y += y
    for child in box.children:
        _place(child, box.x, box.y)
