"""Guesses and measured values: read from a notebook's values, and shown in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.course.exercise_checks import MISSING
from workshop.notebook.boxes import CALM, GOOD, Message
from workshop.notebook.request import plain
from workshop.report import html

CLOSE = 0.1  # of what was measured: so far off is a good guess
FAR = 2.0  # times from which on a factor says more than a percentage


def read(id: str, value: Any) -> Any:
    """A guess or a measured value as the store keeps it; None where there is none. Raises BadInput."""
    if value is MISSING or value is None or value is ...:
        return None
    plain_value = plain(value)
    if hasattr(plain_value, "tolist"):
        plain_value = plain_value.tolist()
    if isinstance(plain_value, float) and not math.isfinite(plain_value):
        raise BadInput(f"{id} is {plain_value}, which is no number to compare with; look at how it was worked out.")
    if isinstance(plain_value, str | bool | int | float | list | tuple | dict):
        return list(plain_value) if isinstance(plain_value, tuple) else plain_value
    raise BadInput(
        f"{id} is a {type(plain_value).__name__}; a guess is a number or a word, as in lab.predict({id!r}, 1.5)."
    )


def predicted(id: str, guess: Any, entry: Mapping[str, Any]) -> Message:
    """The words for a guess, or for somebody who asks for it. `entry` is what the store has now."""
    if "measured" in entry:
        sentence = f"Measured: {in_words(entry['measured'])}."
        if "guess" not in entry:
            return Message(f"{id} was measured already", f"{sentence} A guess counts only before that.")
        stays = "" if guess is None or guess == entry["guess"] else " It was measured already, so that guess stays."
        return Message(f"Your guess for {id} was {in_words(entry['guess'])}", f"{sentence}{stays}")
    if "guess" not in entry:
        return Message(f"No guess for {id} yet", f"Give a value, as in lab.predict({id!r}, 1.5), before you run on.")
    return Message(
        f"Your guess for {id} is {in_words(entry['guess'])}", "It is kept, and shown beside what is measured."
    )


def compared(id: str, entry: Mapping[str, Any]) -> Message:
    """The measured value beside the guess."""
    measured = entry["measured"]
    if "guess" not in entry:
        sentence = f"You made no guess; the next time, lab.predict({id!r}, ...) comes first."
        return Message(f"{id}: measured {in_words(measured)}", sentence)
    guess = entry["guess"]
    how, close = _distance(guess, measured)
    tiles = html.tiles([(f"{id}: you guessed", in_words(guess)), ("Measured", in_words(measured))])
    return Message(
        f"{id}: you guessed {in_words(guess)}, measured {in_words(measured)}", how, GOOD if close else CALM, tiles
    )


def in_words(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer() and abs(value) < 1e6):
        return f"{int(value):,}"
    if isinstance(value, float):
        return say.short(value)
    if isinstance(value, list):
        return say.listed(in_words(each) for each in value)
    if isinstance(value, dict):
        return say.listed(f"{key}: {in_words(each)}" for key, each in value.items())
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
        return f"Your guess was too {way} by {in_words(float(abs(off)))}.", False
    times = max(abs(guess / measured), abs(measured / guess))
    if times >= FAR:
        return f"Your guess was too {way}, by a factor of {say.short(times)}.", False
    return f"Your guess was {say.percent(abs(off / measured))} too {way}.", False
