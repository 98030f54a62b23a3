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
from workshop.workloads.hangs.recorder import RANK_VARIABLES

FOLDER = "failures"  # of the labs
_COMMENT = re.compile(r"^# (Kind|Ranks|Ranks to start): *(.*)$", re.MULTILINE)
# Of a rank's job, under any MPI. Settings of transports stay: they hold for all jobs of the machine.
_JOB = re.compile(
    r"OMPI_(?!ALLOW_|MCA_btl)|OPAL_|PMIX_|PMI_|PRTE_|HYDRA_|I_MPI_|MPICH_|MPIR_|PALS_|MPI_LOCAL|MPI4PY_LIBMPI$"
)


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
    def question(self) -> str:
        """The program without its answers: on the same lines, the docstring and the comments ask."""
        text = _COMMENT.sub(lambda comment: comment[0] if "start" in comment[1] else f"# {comment[1]}: ?",
                            self.path.read_text())  # fmt: skip
        return text.replace(self.title, "Why do the ranks wait?", 1)

    @property
    def command(self) -> list[str]:
        ranked = [openmpi.launcher(), "-n", str(self.size), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
        return [*ranked, sys.executable, str(self.path)]


def environment(folder: str) -> dict[str, str]:
    """The variables with which the programs run: a thread in each rank, and their temporary files in this folder. Where
    a rank of another job asks, without that job's variables, which would make the programs' ranks members of it."""
    in_rank = not os.environ.keys().isdisjoint(RANK_VARIABLES)
    variables = {name: value for name, value in os.environ.items() if not (in_rank and _JOB.match(name))}
    return {**variables, **openmpi.environment(), **Placement().rank_environment(), "TMPDIR": folder}


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
