"""The catalogue: programs that hang, and good programs that look a little as if they did.

A program is a file of a folder below labs/failures. Its docstring says in one line what is wrong or slow, and comments
say how many ranks to start (`# Ranks to start: 3`) and, of a hang, what keeps it (`# Kind: ended`, `# Ranks: 1, 2`).
"""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import openmpi

FOLDER = "failures"  # of the labs
_COMMENT = re.compile(r"^# (Kind|Ranks|Ranks to start): *(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class WatchExample:
    """A program of the catalogue: `size` ranks, of which `ranks` are the cause of a hang of this kind. A good
    program has an empty `kind`."""

    name: str
    path: Path
    title: str
    size: int
    kind: str
    ranks: tuple[int, ...]

    @property
    def command(self) -> list[str]:
        ranked = [openmpi.launcher(), "-n", str(self.size), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
        return [*ranked, sys.executable, str(self.path)]


def environment(folder: str) -> dict[str, str]:
    """The variables with which the programs run: a thread in each rank, and their temporary files in this folder."""
    return {**os.environ, **openmpi.environment(), **Placement().rank_environment(), "TMPDIR": folder}


def examples(folder: str = "hangs") -> dict[str, WatchExample]:
    """The programs of a folder, hangs or good, by name. Raises BadInput for one whose comments are incomplete."""
    paths = sorted((config.labs_folder() / FOLDER / folder).glob("*.py"))
    return {path.stem: _example(path) for path in paths}


def example(name: str) -> WatchExample:
    """A hang of the catalogue. Raises BadInput where there is no such name."""
    hangs = examples()
    if name not in hangs:
        raise BadInput(f"There is no example {name}; `workshop watch --examples` lists them.")
    return hangs[name]


def _example(path: Path) -> WatchExample:
    text = path.read_text()
    comments = dict(_COMMENT.findall(text))
    title = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    try:
        ranks = tuple(int(number) for number in comments.get("Ranks", "").split(",") if number.strip())
        return WatchExample(path.stem, path, title, int(comments["Ranks to start"]), comments.get("Kind", ""), ranks)
    except (KeyError, ValueError):
        raise BadInput(f"{path} needs the comments # Ranks to start: NUMBER and # Ranks: NUMBER, NUMBER.") from None
