"""Options of a grid beside its axes: the sampler, the repeats of the best cells, the title. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.study.scaling.plan import REPEATS

MOST_LIMIT = 10_000  # cells, or trials of a sampler
LONGEST_TITLE = 200  # characters
MOST_BEST = 50  # cells that are repeated
SAMPLERS = ("tpe", "random")
AGAIN = {"cells": 2, "repeats": 3}  # how many of the best are repeated where nobody says


def sampler(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Name, trials and seed, with what was left out; None where none is asked for. Raises BadInput."""
    if given is None:
        return None
    _only("sampler", given, ("name", "trials", "seed"))
    name = given.get("name", "tpe")
    if name not in SAMPLERS:
        raise BadInput(f"sampler is {str(name)[:60]!r}: it should be {' or '.join(SAMPLERS)}.")
    trials = between("trials of the sampler", given.get("trials", 20), 1, MOST_LIMIT)
    return {"name": name, "trials": trials, "seed": between("seed", given.get("seed", 0), 0, 2**31 - 1)}


def best(given: Mapping[str, Any] | None) -> dict[str, int] | None:
    """Cells and repeats, with what was left out; None where nothing is to be repeated. Raises BadInput."""
    if given is None:
        return None
    _only("best", given, ("cells", "repeats"))
    cells = between("cells of best", given.get("cells", 2), 0, MOST_BEST)
    repeats = between("repeats of best", given.get("repeats", 3), 1, REPEATS)
    return {"cells": cells, "repeats": repeats} if cells else None


def _only(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    odd = next((str(name) for name in given if name not in known), None)
    if odd is not None:
        raise BadInput(f"{what} has no setting {odd[:60]!r}; it has {words.listed(known)}.")


def title(given: str) -> str:
    """What a study is called, without blanks around it. Raises BadInput."""
    words_of = given.strip()
    if len(words_of) > LONGEST_TITLE:
        raise BadInput(f"The title has {len(words_of)} characters; it should have at most {LONGEST_TITLE}.")
    if not words_of.isprintable():
        raise BadInput("The title has characters that can't be shown; it should be one line of words.")
    return words_of


def between(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within these bounds. Raises BadInput."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(f"{name} is {str(value)[:60]}: it should be a whole number from {least:,} to {most:,}.")
    return value
