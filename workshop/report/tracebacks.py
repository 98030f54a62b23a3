"""Tracebacks as pages show them: without the folders of the server, which are nobody's business and only in the way."""

from __future__ import annotations

import re
from pathlib import Path

import workshop

_FILE = re.compile(r'(?m)^(\s*(?:\|\s*)*File ")([^"\n]+)(")')
# Where packages begin: site-packages, or the standard library's folder.
_PACKAGES = re.compile(r".*/(?:site-packages|dist-packages|python3\.\d+)/(.+)")
_OURS = f"{Path(workshop.__file__).parent.parent}/"


def shortened(traceback: str) -> str:
    """A traceback whose files are named from their package on, or by their name alone."""
    return _FILE.sub(lambda found: found[1] + _short(found[2]) + found[3], traceback)


def _short(path: str) -> str:
    if (in_packages := _PACKAGES.fullmatch(path)) is not None:
        return in_packages[1]
    return path.removeprefix(_OURS) if path.startswith(_OURS) else path.rpartition("/")[2]
