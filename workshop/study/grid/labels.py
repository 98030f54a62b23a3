"""How cells of a grid are called: by what tells them apart, in few words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workshop.core import words

# How fields of a placement read; all others read as their name and value.
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "ranks": lambda value: words.count(value, "rank"),
    "threads": lambda value: "threads as cores" if value is None else words.count(value, "thread"),
    "map_by": lambda value: f"by {value}",
    "per_resource": lambda value: "dealt out" if value is None else f"{value} per resource",
    "cores_per_rank": lambda value: f"{words.count(value, 'core')} per rank",
    "bind_to": lambda value: "unbound" if value == "none" else f"bound to {value}",
    "oversubscribe": lambda value: "cores shared" if value else "cores not shared",
    "mpi": lambda value: str(value),
}


def label(point: Mapping[str, Any]) -> str:
    """A point of a grid: `2 ranks, 1 thread, exchange mpi`."""
    return ", ".join(coordinate(name, value) for name, value in point.items())


def coordinate(axis: str, value: Any) -> str:
    """One value of one axis."""
    if axis in _WORDS:
        return _WORDS[axis](value)
    if axis.startswith("env."):
        name = axis.removeprefix("env.")
        return f"no {name}" if value is None else f"{name}={value}"
    return f"{axis.removeprefix('params.')} {shown(value)}"


def shown(value: Any) -> str:
    """A value by itself, as heads of rows and columns have it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else "none" if value == "" else str(value)
