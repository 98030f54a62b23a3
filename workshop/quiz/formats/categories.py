"""Moodle's categories: paths of names, in which a slash that belongs to a name is written twice."""

from __future__ import annotations

import re


def part(title: str) -> str:
    """A title as the last part of a path. A slash that it begins with is kept apart from the path's own by a space."""
    doubled = " ".join(title.split()).replace("/", "//")
    return f" {doubled}" if doubled.startswith("/") else doubled


def last(path: str) -> str:
    """The last name of a path."""
    return re.split(r"(?<!/)/(?!/)", path)[-1].replace("//", "/").strip()
