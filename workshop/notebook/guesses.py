"""What somebody guessed, and what came out: read from a notebook's values, and said in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.course.exercise_checks import MISSING
from workshop.notebook.boxes import CALM, GOOD, Said
from workshop.notebook.request import plain
from workshop.report import html

CLOSE = 0.1  # of what was measured: so far off is a good guess
FAR = 2.0  # times from which on a factor says more than a percentage


def read(id: str, value: Any) -> Any:
    """A guess or a measured value as the store keeps it; None where there is none. Raises BadInput."""
    if value is MISSING or value is None or value is ...:
        return None
    found = plain(value)
    if hasattr(found, "tolist"):
        found = found.tolist()
    if isinstance(found, float) and not math.isfinite(found):
        raise BadInput(f"{id} is {found}, which is no number to compare with; look at how it was worked out.")
    if isinstance(found, str | bool | int | float | list | tuple | dict):
        return list(found) if isinstance(found, tuple) else found
    raise BadInput(f"{id} is a {type(found).__name__}; a guess is a number or a word, as in lab.predict({id!r}, 1.5).")


def predicted(id: str, guess: Any, kept: Mapping[str, Any]) -> Said:
    """The words for a guess, or for somebody who asks for it. `kept` is the store's present entry."""
    if "measured" in kept:
        said = f"Measured: {shown(kept['measured'])}."
        if "guess" not in kept:
            return Said(f"{id} was measured already", f"{said} A guess counts only before that.")
        stays = "" if guess is None or guess == kept["guess"] else " It was measured already, so that guess stays."
        return Said(f"Your guess for {id} was {shown(kept['guess'])}", f"{said}{stays}")
    if "guess" not in kept:
        return Said(f"No guess for {id} yet", f"Give a value, as in lab.predict({id!r}, 1.5), before you run on.")
    return Said(f"Your guess for {id} is {shown(kept['guess'])}", "It is kept, and shown beside what is measured.")


def compared(id: str, kept: Mapping[str, Any]) -> Said:
    """The measured value beside the guess."""
    measured = kept["measured"]
    if "guess" not in kept:
        said = f"You made no guess; the next time, lab.predict({id!r}, ...) comes first."
        return Said(f"{id}: measured {shown(measured)}", said)
    guess = kept["guess"]
    how, close = _distance(guess, measured)
    tiles = html.tiles([(f"{id}: you guessed", shown(guess)), ("Measured", shown(measured))])
    return Said(f"{id}: you guessed {shown(guess)}, measured {shown(measured)}", how, GOOD if close else CALM, tiles)


def shown(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if isinstance(value, float):
        return say.short(value)
    if isinstance(value, list):
        return say.listed(shown(one) for one in value)
    if isinstance(value, dict):
        return say.listed(f"{key}: {shown(one)}" for key, one in value.items())
    return str(value)


def _distance(guess: Any, measured: Any) -> tuple[str, bool]:
    """The distance of a guess from the measured value, and whether that is close."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (guess, measured))
    if not numbers:
        same = guess == measured
        return ("As you guessed." if same else "Something else than you guessed."), same
    off = guess - measured
    way = "high" if off > 0 else "low"
    if off == 0:
        return "As you guessed.", True
    if abs(off) <= CLOSE * abs(measured):
        return "That is close.", True
    if measured * guess <= 0:
        return f"Your guess was too {way} by {shown(float(abs(off)))}.", False
    times = max(abs(guess / measured), abs(measured / guess))
    if times >= FAR:
        return f"Your guess was too {way}, by a factor of {say.short(times)}.", False
    return f"Your guess was {say.percent(abs(off / measured))} too {way}.", False
