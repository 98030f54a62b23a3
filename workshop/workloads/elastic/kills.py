"""The ranks that a run kills, and in which steps: "2@step:40" is rank 2 at the begin of step 40."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from workshop.core import words
from workshop.core.errors import BadInput

_KILL = re.compile(r"\s*(\d{1,6})@step:(\d{1,9})\s*")


class Kill(NamedTuple):
    """A rank, by its number at the start, and the step at whose begin it is killed; the first step is 1."""

    rank: int
    step: int


def parse_kills(text: str) -> tuple[Kill, ...]:
    """The kills in the order of their steps; "" is none. Raises ValueError for other text."""
    kills = []
    for part in text.split(",") if text.strip() else []:
        match = _KILL.fullmatch(part)
        if match is None or int(match[2]) < 1:
            raise ValueError(
                f"kill is {words.quoted(text)}; it should be RANK@step:N with a step from 1 on, such as 2@step:40, "
                "and several with commas"
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
    killed = [kill.rank for kill in kills]
    if restarts:
        return
    for rank in killed:
        if killed.count(rank) > 1:
            raise BadInput(f"kill names rank {rank} twice; name each rank once.")
    if kills and len(set(killed)) >= ranks:
        raise BadInput(f"kill names all {words.count(ranks, 'rank')}, so none would go on; leave one out.")
