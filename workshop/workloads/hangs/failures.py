"""Guided failures: the hangs of the catalogue. Learners read a program and predict why its ranks wait."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

from workshop.core import config
from workshop.core.placement import Host, Placement
from workshop.extension import Failure, ProgramPrediction
from workshop.workloads.hangs.examples import WatchExample, examples
from workshop.workloads.hangs.report import CAUSES, cause
from workshop.workloads.hangs.waits import MOVING

QUESTION = "For which ranks do the others wait, and why?"
ALONE = Placement(ranks=1)  # the program has ranks of its own
# Wrong causes for an option, by the right one: none that could be called right as well. A rank that has ended, for
# example, misses a collective call, too.
_MESSAGE = ("raised", "other-collective", "stopped", "lock")
_COLLECTIVE = ("raised", "lock", "tag-mismatch", "stopped")
_END = ("tag-mismatch", "other-root", "other-collective", "lock")
_OUTSIDE = ("raised", "other-root", "tag-mismatch", "circular-sends")
WRONG: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("send-without-receive", "receive-without-send", "tag-mismatch", "wrong-peer"), _MESSAGE),
    **dict.fromkeys(("wait-for-request", "probe"), _MESSAGE),
    "circular-sends": ("circular-receives", "tag-mismatch", "other-collective", "raised"),
    "circular-receives": ("circular-sends", "tag-mismatch", "other-collective", "raised"),
    "circular-wait": _COLLECTIVE,
    **dict.fromkeys(("missing-from-collective", "other-collective", "other-root", "other-op"), _COLLECTIVE),
    **dict.fromkeys(("other-size", "other-communicator"), _COLLECTIVE),
    **dict.fromkeys(("ended", "raised"), _END),
    **dict.fromkeys(("stopped", "input", "lock", "file-lock"), _OUTSIDE),
}


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
        verdict=CAUSES[hang.kind],
        prediction=ProgramPrediction(QUESTION, options(hang), cause(hang.kind, hang.ranks), hang.question, hang.title),
    )


def options(hang: WatchExample) -> tuple[str, ...]:
    """Four options, always the same ones for a program: two causes, each with the right ranks and with others; or four
    causes where all ranks have theirs. So neither a cause nor a rank stands out."""
    draw = random.Random(hang.name)
    wrong = draw.sample(WRONG[hang.kind], 3)
    others = [ranks for ranks in combinations(range(hang.size), len(hang.ranks)) if ranks != hang.ranks]
    chosen = (hang.ranks, draw.choice(others)) if others else (hang.ranks,)
    pairs = [(kind, ranks) for kind in (hang.kind, *(wrong[:1] if others else wrong)) for ranks in chosen]
    draw.shuffle(pairs)
    return tuple(cause(kind, ranks) for kind, ranks in pairs)
