"""Numbers and lists as people read them."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_NAME = re.compile(r"\S*(/|\.[A-Za-z])")  # of a file or of something in it

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"))
_PREFIXES_OF_UNITS = {"s": _TIMES, "B": _PREFIXES, "B/s": _PREFIXES}
_LARGEST = 1e18  # from it on there is no prefix
_LONGEST = 1e5  # below it, other numbers are written out, with commas
_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def quantity(value: float, unit: str = "") -> str:
    """A number with three digits and a prefix for its unit: 98.9 M points/s, 3.93 s, 491 kB, 26.4 %, 3.79·10⁻¹³.

    Whole numbers (`int`) of up to five digits are exact: 2,656 steps. Seconds go from µs to minutes.
    """
    if not math.isfinite(value):
        return "not a number"
    if unit == "s" and abs(value) >= 120:
        return quantity(value / 60, "min")
    near = value if isinstance(value, int) and abs(value) < _LONGEST else float(f"{value:.3g}") + 0.0
    if abs(near) >= _LARGEST:
        return f"{_digits(value)} {unit}".strip()
    if unit in _PREFIXES_OF_UNITS:
        *larger, finest = _PREFIXES_OF_UNITS[unit] if near else ((1.0, ""),)
        factor, prefix = next((step for step in larger if abs(near) >= step[0]), finest)
        return f"{_digits(near / factor)} {prefix}{unit}"
    factor, prefix = next((step for step in _PREFIXES if abs(near) >= max(step[0], _LONGEST)), (1.0, ""))
    return " ".join(filter(None, (_digits(near / factor), prefix, unit)))


def _digits(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{float(digits):g}·10{str(int(power)).translate(_POWERS)}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def exact(value: float, unit: str = "") -> str:
    """A number with all digits that mean something, for whoever points at its `quantity`: 98,896,684 points/s."""
    digits = f"{value:,.0f}" if abs(value) >= 1e6 or isinstance(value, int) else f"{value:,.7g}"
    return f"{digits} {unit}".strip()


def seconds(value: float) -> str:
    """A time: 85 µs, 1.31 ms, 4.2 s, 3.5 min."""
    return quantity(value, "s")


def size(count: float) -> str:
    """Bytes: 61.2 kB."""
    return quantity(count, "B")


def long(value: float) -> str:
    """A rough time of seconds to years: 40 s, 12 min, 3 h, 5 days."""
    for factor, word in ((365.25 * 86400, "year"), (86400, "day"), (3600, "h"), (60, "min")):
        if value >= 2 * factor:
            number = round(value / factor)
            return f"{number:,} {word}{'s' if word in ('year', 'day') else ''}"
    return f"{max(5 * round(value / 5), 5)} s"


def moment(at: float) -> str:
    """The day and the time on this machine's clock of a moment in seconds since the epoch: 23 Nov 14:05."""
    return time.strftime("%d %b %H:%M", time.localtime(at))


def percent(share: float) -> str:
    """A share as a whole percentage: 0.314 is 31 %."""
    return f"{100 * share:.0f} %"


def times(ratio: float) -> str:
    """A ratio: 1.50×."""
    return f"{ratio:.2f}×"


def verb(number: int, singular: str = "is", plural: str = "are") -> str:
    """The verb after a number of things."""
    return singular if number == 1 else plural


def count(number: int, word: str) -> str:
    """A number of things: 1 rank, 2 ranks, 4,634 steps."""
    return quantity(number, word if number == 1 else f"{word}s")


def option(number: int, word: str, flag: str) -> str:
    """A number of things, and how the command line asks for it: 2 ranks (--ranks 2)."""
    return f"{count(number, word)} ({flag} {number})"


def ranks(number: int) -> str:
    """A number of ranks to try: 2 ranks (--ranks 2)."""
    return option(number, "rank", "--ranks")


def capital(text: str) -> str:
    """A text that begins a sentence; a file's name keeps its letters: checkpoint.npz."""
    return text if _NAME.match(text) else text[:1].upper() + text[1:]


def quoted(text: str, most: int = 40) -> str:
    """Somebody's text in quotes, on one line; a long text is cut."""
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= most else flat[: most - 3] + "...")


def listed(words: Iterable[object], last: str = "and") -> str:
    """Words as a sentence lists them: a, b and c."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""


def numbered(word: str, numbers: Sequence[int]) -> str:
    """Things by number, long runs of neighbours drawn together: rank 3; ranks 0 and 2; ranks 0 to 7."""
    parts: list[str] = []
    for first, last in _spans(numbers):
        parts += [f"{first} to {last}"] if last - first >= 2 else [str(number) for number in range(first, last + 1)]
    return f"{word}{'' if len(set(numbers)) == 1 else 's'} {listed(parts)}"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as people write lists of processors: 0-1,3."""
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in _spans(numbers))


def _spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The first and the last number of each run of neighbours, in order."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans


def nearest(name: Any, names: Iterable[str]) -> str:
    """The end of a sentence on a name that there isn't: the nearest one that there is, else all."""
    choices = list(names)
    near = get_close_matches(str(name), choices, 1, 0.6)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(choices) or 'none'}."
