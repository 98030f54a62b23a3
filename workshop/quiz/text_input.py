"""Reads typed answers: numbers in all common notations, and short texts."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.words import quoted

LONGEST_ANSWER = 200  # characters of an answer

_APOSTROPHES = dict.fromkeys(map(ord, "’‘ʼ`´′"), "'")
_MINUS = dict.fromkeys(map(ord, "−–‒"), "-")
_TIMES = ("x", "×", "times")  # the unit of a factor: 1.8x, 1.8 times
_PLAIN = re.compile(r"(?P<number>[-+]?[0-9.,' ]*[0-9][.,]?(?:[eE][-+]?[0-9]{1,4})?)(?P<unit>.*)")
# Thousands separated by spaces or apostrophes; or by commas with a decimal point, or by points with a decimal comma.
# Each with what stands between thousands.
_WRITTEN = {
    re.compile(r"[0-9]{1,3}(?:([ '])[0-9]{3})(?:\1[0-9]{3})*(?:[.,][0-9]*)?"): "[ ']",
    re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*|[0-9]{1,3}(?:,[0-9]{3}){2,}"): ",",
    re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*|[0-9]{1,3}(?:\.[0-9]{3}){2,}"): "[.]",
    re.compile(r"[0-9]*[.,]?[0-9]*"): "",
}
_AMBIGUOUS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")


def number(raw: Any, unit: str = "") -> float:
    """Read a typed number: 1.5, 1,5, -2, 1e3, 1 000, 1'000, 1,234.5, 1.234,5, with the question's unit or without;
    other units are refused. A single point is a decimal point, a single comma a decimal comma, but 1,500 is ambiguous
    and refused. Raises BadInput with one sentence."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise BadInput("That is no number; it should be one such as 1.5 or 1e3.")
    if isinstance(raw, int | float):
        return _finite(raw, "That")
    if len(raw) > LONGEST_ANSWER:
        raise BadInput(f"That has {len(raw)} characters; a number has at most {LONGEST_ANSWER}.")
    text = _tidy(unicodedata.normalize("NFKC", raw).translate(_MINUS).translate(_APOSTROPHES))
    match = _PLAIN.fullmatch(text)
    if not match:
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    _check_unit(match["unit"], unit, text)
    return _value(match["number"], text)


def _check_unit(typed: str, unit: str, text: str) -> None:
    """Refuse any text behind a number that is not the question's unit."""
    suffix, expected = _tidy(typed), _tidy(unicodedata.normalize("NFKC", unit))
    if not suffix or suffix == expected or (suffix in _TIMES and expected in _TIMES):
        return
    if not any(character.isalpha() or character in "%°$€£" for character in suffix[:1]):
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    if not expected:
        raise BadInput(f"{quoted(text)} has {quoted(suffix)} behind the number; the answer should be the number alone.")
    raise BadInput(f"{quoted(text)} is not in {unit}; give the answer in {unit}, with or without it.")


def _value(written: str, text: str) -> float:
    sign = -1.0 if written.startswith("-") else 1.0
    digits, _, power = written.lstrip("+-").strip().lower().partition("e")
    if _AMBIGUOUS.fullmatch(digits):
        either, other = digits.replace(",", "."), digits.replace(",", "")
        raise BadInput(f"{quoted(digits)} could be {float(either):g} or {other}; write one of them.")
    separator = next((between for pattern, between in _WRITTEN.items() if pattern.fullmatch(digits)), None)
    if separator is None:
        raise BadInput(f"{quoted(text)} is no number; it should be one such as 1.5 or 1e3.")
    plain = re.sub(separator, "", digits).replace(",", ".")
    return sign * _finite(float(f"{plain}e{power or 0}"), quoted(text)) + 0.0


def _finite(value: float, subject: str) -> float:
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise BadInput(f"{subject} is no finite number; it should be one such as 1.5 or 1e3.")
    return value


def whole_number(raw: Any, what: str, least: int, most: int) -> int:
    """Read an integer in these bounds. `what` begins the sentence of the error: "A rank". Raises BadInput."""
    value = number(raw)
    if not value.is_integer() or not least <= value <= most:
        raise BadInput(f"{what} is a whole number from {least} to {most}, not {value:.6g}.")
    return int(value)


def text(raw: Any) -> str:
    """Read a few typed words; repeated spaces become one. Raises BadInput with one sentence."""
    if not isinstance(raw, str):
        raise BadInput("That is no text; it should be a few words.")
    if len(raw) > LONGEST_ANSWER:
        raise BadInput(f"That has {len(raw)} characters; an answer has at most {LONGEST_ANSWER}.")
    if any(
        unicodedata.category(character) in ("Cc", "Cs", "Cn", "Co") and not character.isspace() for character in raw
    ):
        raise BadInput("That has characters in it which can't be shown; it should be a few words.")
    if not (words := _tidy(unicodedata.normalize("NFC", raw))):
        raise BadInput("That is empty; it should be a word or a few.")
    return words


def normalised(words: str) -> str:
    """Normalise a text for comparison: case, repeated spaces and the kind of apostrophe don't matter; hyphens do."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", words).casefold())
    return _tidy(folded.translate(_APOSTROPHES))


def _tidy(words: str) -> str:
    return " ".join(words.split())
