"""What people type as an answer: numbers in the ways in which people write them, and short texts."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.words import quoted

LONGEST = 200  # characters of an answer

_APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼ`´′"), "'")
_MINUS = dict.fromkeys(map(ord, "−–‒"), "-")
_TIMES = ("x", "×", "times")  # how many times: 1.8x, 1.8 times
_PLAIN = re.compile(r"(?P<number>[-+]?[0-9.,' ]*[0-9][.,]?(?:[eE][-+]?[0-9]{1,4})?)(?P<unit>.*)")
# Thousands apart by spaces or apostrophes, and a decimal sign; or apart by one sign, with the other one for decimals.
_SPACED = re.compile(r"[0-9]{1,3}(?:([ '])[0-9]{3})(?:\1[0-9]{3})*(?:[.,][0-9]*)?")
_COMMAS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*|[0-9]{1,3}(?:,[0-9]{3}){2,}")
_POINTS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*|[0-9]{1,3}(?:\.[0-9]{3}){2,}")
_SINGLE = re.compile(r"[0-9]*[.,]?[0-9]*")
_AMBIGUOUS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")


def number(raw: Any, unit: str = "") -> float:
    """A number from what was typed: 1.5, 1,5, -2, 1e3, 1 000, 1'000, 1,234.5, 1.234,5, with the question's unit behind
    it or without one.

    A point alone is always a decimal point; a comma alone is one, too, but 1,500 could be both and is refused. A unit
    is never converted: one that isn't the question's is refused, so 25 % is only taken where the unit is %. Raises
    BadInput with one sentence.
    """
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise BadInput("That is no number; it should be one such as 1.5 or 1e3.")
    if isinstance(raw, int | float):
        return _finite(raw, "That")
    if len(raw) > LONGEST:
        raise BadInput(f"That has {len(raw)} characters; a number has at most {LONGEST}.")
    text = _tidy(unicodedata.normalize("NFKC", raw).translate(_MINUS).translate(_APOSTROPHES))
    found = _PLAIN.fullmatch(text)
    if not found:
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    _check_unit(found["unit"], unit, text)
    return _value(found["number"], text)


def _check_unit(given: str, unit: str, text: str) -> None:
    """Whether what stands behind a number is the question's unit, or nothing."""
    found, wanted = _tidy(given), _tidy(unicodedata.normalize("NFKC", unit))
    if not found or found == wanted or (found in _TIMES and wanted in _TIMES):
        return
    if not any(character.isalpha() or character in "%°$€£" for character in found[:1]):
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    if not wanted:
        raise BadInput(f"{quoted(text)} has {quoted(found)} behind the number; the answer should be the number alone.")
    raise BadInput(f"{quoted(text)} is not in {unit}; give the answer in {unit}, with or without it.")


def _value(written: str, text: str) -> float:
    sign = -1.0 if written.startswith("-") else 1.0
    digits, _, power = written.lstrip("+-").strip().lower().partition("e")
    if _AMBIGUOUS.fullmatch(digits):
        either, other = digits.replace(",", "."), digits.replace(",", "")
        raise BadInput(f"{quoted(digits)} could be {float(either):g} or {other}; write one of them.")
    if _SPACED.fullmatch(digits):
        plain = re.sub("[ ']", "", digits).replace(",", ".")
    elif _COMMAS.fullmatch(digits):
        plain = digits.replace(",", "")
    elif _POINTS.fullmatch(digits):
        plain = digits.replace(".", "").replace(",", ".")
    elif _SINGLE.fullmatch(digits):
        plain = digits.replace(",", ".")
    else:
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    return sign * _finite(float(f"{plain}e{power or 0}"), quoted(text)) + 0.0


def _finite(value: float, shown: str) -> float:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise BadInput(f"{shown} is no finite number; it should be one such as 1.5 or 1e3.")
    return value


def whole(raw: Any, what: str, least: int, most: int) -> int:
    """A whole number in these bounds. `what` begins the sentence: "A rank". Raises BadInput."""
    value = number(raw)
    if not value.is_integer() or not least <= value <= most:
        raise BadInput(f"{what} is a whole number from {least} to {most}, not {value:.6g}.")
    return int(value)


def text(raw: Any) -> str:
    """A few words as they were typed, with single spaces. Raises BadInput with one sentence."""
    if not isinstance(raw, str):
        raise BadInput("That is no text; it should be a few words.")
    if len(raw) > LONGEST:
        raise BadInput(f"That has {len(raw)} characters; an answer has at most {LONGEST}.")
    if any(unicodedata.category(one) in ("Cc", "Cs", "Cn", "Co") and not one.isspace() for one in raw):
        raise BadInput("That has characters in it which can't be shown; it should be a few words.")
    if not (found := _tidy(unicodedata.normalize("NFC", raw))):
        raise BadInput("That is empty; it should be a word or a few.")
    return found


def alike(words: str) -> str:
    """A text as it is compared: case, repeated spaces and the kind of apostrophe don't matter; hyphens do."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", words).casefold())
    return _tidy(folded.translate(_APOSTROPHES))


def _tidy(words: str) -> str:
    return " ".join(words.split())
