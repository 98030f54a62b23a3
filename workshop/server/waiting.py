"""Connections that wait for their client: where there are too many, the oldest give way to new ones."""

from __future__ import annotations

import resource
from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol

MOST = 1 << 15  # connections that wait, where this process may open any number of files
MOST_OF_ONE = 60  # connections of one person that wait; browsers open six


class Line(Protocol):
    def give_way(self) -> None:
        """End the connection, which counts for nobody from now on."""


class Waiting:
    """Belongs to the event loop. Connections of one group are those of one person, or of an address's strangers."""

    def __init__(self, most: int | None = None) -> None:
        """`most` may wait in all; by default half of the files that this process may open."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = most or (MOST if files == resource.RLIM_INFINITY else min(files // 2, MOST))
        self._groups: dict[Hashable, OrderedDict[Line, None]] = {}
        self._group_of: dict[Line, Hashable] = {}

    def begin(self, line: Line, group: Hashable, most: int | None = None) -> None:
        """Let a connection wait as the newest of a group, which has `most`. In all, the largest group gives way."""
        self.end(line)
        self._groups.setdefault(group, OrderedDict())[line] = None
        self._group_of[line] = group
        if most is not None and len(self._groups[group]) > most:
            self.push_out(group)
        elif len(self._group_of) > self._most:
            self.push_out(max(self._groups, key=lambda name: len(self._groups[name])))

    def end(self, line: Line) -> None:
        """Take note that a connection does not wait any more."""
        group = self._group_of.pop(line, None)
        if group is not None:
            del self._groups[group][line]
            if not self._groups[group]:
                del self._groups[group]

    def push_out(self, group: Hashable) -> None:
        """End the connection of a group that has waited longest, if there is any."""
        if group in self._groups:
            oldest = next(iter(self._groups[group]))
            self.end(oldest)
            oldest.give_way()
