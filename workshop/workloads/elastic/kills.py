"""The ranks that a run kills, and in which steps: "2@step:40" is rank 2 at the begin of step 40, "random:60" a random
rank about every 60 steps."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from workshop.core import words
from workshop.core.errors import BadInput

_KILL = re.compile(r"\s*(\d{1,6})@step:(\d{1,9})\s*")
_RANDOM = re.compile(r"\s*random:(\d{1,9})\s*")


class Kill(NamedTuple):
    """A rank, by its number at the start, and the step at whose begin it is killed; the first step is 1."""

    rank: int
    step: int


def random_mean(text: str) -> int | None:
    """The mean number of steps between two random kills; None where kills aren't random."""
    match = _RANDOM.fullmatch(text)
    return int(match[1]) if match is not None and int(match[1]) > 1 else None


def draw_kill(mean: int, seed: int, number: int, step: int, ranks: int) -> Kill:
    """The random kill with that number, in an attempt that begins behind `step` steps. The seed and the number decide.
    The steps until it comes have a geometric distribution, so that each step is as dangerous as any other."""
    draw = random.Random(f"{seed} {number}")
    gap = 1 + int(draw.expovariate(-math.log1p(-1 / mean)))
    return Kill(draw.randrange(ranks), step + gap)


def parse_kills(text: str) -> tuple[Kill, ...]:
    """The kills in the order of their steps; "" is none, and so are random ones, which each attempt draws. Raises
    ValueError for other text."""
    if random_mean(text) is not None:
        return ()
    kills = []
    for part in text.split(",") if text.strip() else []:
        match = _KILL.fullmatch(part)
        if match is None or int(match[2]) < 1:
            raise ValueError(
                f"kill is {words.quoted(text)}; it should be RANK@step:N with a step from 1 on, such as 2@step:40, "
                "and several with commas, or random:MEAN with a mean from 2 steps on"
            )
        kills.append(Kill(int(match[1]), int(match[2])))
    return tuple(sorted(kills, key=lambda kill: kill.step))


def check_kills(kills: Sequence[Kill], ranks: int, steps: int, restarts: bool) -> None:
    """Refuse kills that a run of so many ranks and steps can't carry out. A run that `restarts` has all ranks again
    after each kill. Raises BadInput."""
    for kill in kills:
        if kill.rank >= ranks:
            raise BadInput(
                f"kill names rank {kill.rank}, but this run has {words.count(ranks, 'rank')}; name one from 0 to "
                f"{ranks - 1}, or take more ranks."
            )
        if kill.step > steps:
            raise BadInput(
                f"kill names step {kill.step}, but this run has {words.count(steps, 'step')}; name an earlier one, or "
                "take more epochs."
            )
    if len({kill.rank for kill in kills}) >= ranks and not restarts:
        raise BadInput(f"kill names all {words.count(ranks, 'rank')}, so none would go on; leave one out.")
