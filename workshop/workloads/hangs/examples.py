"""The catalogue: programs that hang, and good programs that look a little as if they did; the hangs as guided failures,
in which learners read a program and predict why its ranks wait.

A program is a file of a folder below labs/failures. Its docstring says in one line what is wrong or slow, and comments
say how many ranks to start (`# Ranks to start: 3`) and, of a hang, what keeps it (`# Kind: ended`, `# Ranks: 1, 2`).
"""

from __future__ import annotations

import ast
import random
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement
from workshop.extension import Failure, ProgramPrediction
from workshop.mpi import openmpi
from workshop.workloads.hangs.diagnosis import KINDS, MOVING, cause

FOLDER = "failures"  # of the labs
QUESTION = "For which ranks do the others wait, and why?"
ALONE = Placement(ranks=1)  # the program has ranks of its own
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
    def question(self) -> str:
        """The program without its answers: on the same lines, the docstring and the comments ask."""
        text = _COMMENT.sub(lambda comment: comment[0] if "start" in comment[1] else f"# {comment[1]}: ?",
                            self.path.read_text())  # fmt: skip
        return text.replace(self.title, "Why do the ranks wait?", 1)

    @property
    def command(self) -> list[str]:
        ranked = [openmpi.launcher(), "-n", str(self.size), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
        return [*ranked, sys.executable, str(self.path)]


def examples(folder: str = "hangs") -> dict[str, WatchExample]:
    """The programs of a folder, hangs or good, by name."""
    paths = sorted((config.labs_folder() / FOLDER / folder).glob("*.py"))
    return {path.stem: _example(path) for path in paths}


def example(name: str) -> WatchExample:
    """A hang of the catalogue. Raises BadInput where there is no such name."""
    hangs = examples()
    if name not in hangs:
        raise BadInput(f"There is no example {name}; take one of {', '.join(hangs)}.")
    return hangs[name]


def _example(path: Path) -> WatchExample:
    text = path.read_text()
    comments = dict(_COMMENT.findall(text))
    title = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    ranks = tuple(int(number) for number in comments.get("Ranks", "").split(",") if number)
    return WatchExample(path.stem, path, title, int(comments["Ranks to start"]), comments.get("Kind", ""), ranks)


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Sequence[Failure]:
    """The hangs that `workshop watch` ends, in the order of their names: numbers, because names say too much."""
    return _failures(config.labs_folder())


@cache  # pages ask at each drawing
def _failures(labs: Path) -> tuple[Failure, ...]:
    hangs = [hang for hang in examples().values() if hang.kind not in MOVING]
    return tuple(_failure(number, hang) for number, hang in enumerate(hangs, 1))


def _failure(number: int, hang: WatchExample) -> Failure:
    return Failure(
        name=f"hang-{hang.name}",
        title=f"Hang {number} ({hang.size} ranks)",
        shows=f"{hang.size} ranks run this program, and it doesn't end.",
        workload="hang",
        params={"example": hang.name},
        broken=ALONE,
        fixed=ALONE,
        look_for="In which line does each rank wait? Which change of the program would let all of them go on?",
        verdict=KINDS[hang.kind]["cause"],
        prediction=ProgramPrediction(QUESTION, options(hang), cause(hang.kind, hang.ranks), hang.question, hang.title),
    )


def options(hang: WatchExample) -> tuple[str, ...]:
    """Four options, always the same ones for a program: two causes, each with the right ranks and with others; or four
    causes where all ranks have theirs. So neither a cause nor a rank stands out."""
    draw = random.Random(hang.name)
    wrong = draw.sample(KINDS[hang.kind]["wrong"], 3)
    others = [ranks for ranks in combinations(range(hang.size), len(hang.ranks)) if ranks != hang.ranks]
    chosen = (hang.ranks, draw.choice(others)) if others else (hang.ranks,)
    pairs = [(kind, ranks) for kind in (hang.kind, *(wrong[:1] if others else wrong)) for ranks in chosen]
    draw.shuffle(pairs)
    return tuple(cause(kind, ranks) for kind, ranks in pairs)
